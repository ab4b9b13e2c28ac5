BEGIN TRANSACTION;
CREATE TABLE attachment (
	id INTEGER NOT NULL, 
	run_number INTEGER NOT NULL, 
	name VARCHAR(80) NOT NULL, 
	content BLOB NOT NULL, 
	CONSTRAINT pk_attachment PRIMARY KEY (id), 
	CONSTRAINT fk_attachment_run_number FOREIGN KEY(run_number) REFERENCES run (number) ON DELETE CASCADE, 
	CONSTRAINT uq_attachment_run_number_name UNIQUE (run_number, name)
);
CREATE TABLE benchvise_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT benchvise_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "benchvise_version" VALUES('0006');
CREATE TABLE diagnosis (
	number INTEGER NOT NULL, 
	id VARCHAR(12) NOT NULL, 
	kept DATETIME NOT NULL, 
	good TEXT NOT NULL, 
	bad TEXT NOT NULL, 
	metric TEXT NOT NULL, 
	verdict TEXT NOT NULL, 
	headline TEXT NOT NULL, 
	simulated BOOLEAN NOT NULL, 
	tool_version TEXT NOT NULL, 
	document BLOB NOT NULL, 
	CONSTRAINT pk_diagnosis PRIMARY KEY (number), 
	CONSTRAINT uq_diagnosis_id UNIQUE (id)
);
CREATE TABLE process (
	id INTEGER NOT NULL, 
	series_id INTEGER NOT NULL, 
	"index" INTEGER NOT NULL, 
	"begin" JSON NOT NULL, 
	complete BOOLEAN NOT NULL, 
	CONSTRAINT pk_process PRIMARY KEY (id), 
	CONSTRAINT fk_process_series_id FOREIGN KEY(series_id) REFERENCES series (id) ON DELETE CASCADE, 
	CONSTRAINT uq_process_series_id_index UNIQUE (series_id, "index")
);
INSERT INTO "process" VALUES(1,1,0,'{"params":{"cpu":"auto","batches":"2","batch_ms":"5","warm_ms":"2000","counters":"auto","paced":"1","marker":""},"unit":"Hz","better":"higher","counted":"cycles of a chain of dependent one-cycle instructions","iterations":198,"batches":2,"cpu":0,"partner_cpu":{"na":"one process only"},"clock_hz":3694875120.0,"counters_scope":"user+kernel","figures":[],"advertised_hz":{"na":"no cpufreq for this CPU"},"limit_hz":{"na":"no cpufreq for this CPU"},"caveats":[]}',1);
CREATE TABLE run (
	number INTEGER NOT NULL, 
	id VARCHAR(12) NOT NULL, 
	label TEXT NOT NULL, 
	board TEXT NOT NULL, 
	suite TEXT NOT NULL, 
	status TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	started DATETIME NOT NULL, 
	finished DATETIME, 
	seed BIGINT NOT NULL, 
	"plan" JSON NOT NULL, 
	host JSON NOT NULL, 
	tool_version TEXT NOT NULL, 
	simulated BOOLEAN NOT NULL, 
	owner JSON NOT NULL, remarks JSON DEFAULT '{}' NOT NULL, note TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_run PRIMARY KEY (number), 
	CONSTRAINT uq_run_id UNIQUE (id)
);
INSERT INTO "run" VALUES(1,'6d6606fff892','old','local','','complete','','2026-11-22 22:18:47.797408','2026-11-22 22:18:48.035031',68061322,'{"series":["cpu.clock"],"seed":68061322,"processes":1,"batches":2,"time_s":null,"group":"","settings":{}}','{"type": "host", "probe": "0.1.0", "protocol": 1, "arch": "x86_64", "machine": "x86_64", "hostname": "board", "kernel": "6.1.0", "kernel_version": "#1 SMP", "cpu_model": "a CPU", "board_model": {"na": "no device tree"}, "product": {"na": "not said"}, "memory_bytes": 25276502016, "cpus_online": "0-1", "cpus_allowed": [0, 1], "caches": [{"level": 1, "type": "Data", "size": 32768, "line": 64, "shared_by": "1"}, {"level": 1, "type": "Instruction", "size": 32768, "line": 64, "shared_by": "1"}, {"level": 2, "type": "Unified", "size": 1048576, "line": 64, "shared_by": "1"}, {"level": 3, "type": "Unified", "size": 33554432, "line": 64, "shared_by": "0-1"}], "page_size": 4096, "thp": "always [madvise] never", "governor": {"na": "ENOENT"}, "clocksource": "tsc", "features": ["avx", "avx512f", "erms"], "uid": 0, "time_monotonic_ns": 3343442942857, "time_realtime_ns": 1795385927813458683, "timer_resolution_ns": 20, "timer_cost_ns": 24.366}','0.1.0',0,'{"pid": 1, "started": 2, "boot_id": "b", "pid_namespace": "n", "machine_id": "m", "hostname": "h"}','{}','');
CREATE TABLE run_tag (
	run_number INTEGER NOT NULL, 
	name VARCHAR(40) NOT NULL, 
	CONSTRAINT pk_run_tag PRIMARY KEY (run_number, name), 
	CONSTRAINT fk_run_tag_run_number FOREIGN KEY(run_number) REFERENCES run (number) ON DELETE CASCADE
);
CREATE TABLE sample (
	process_id INTEGER NOT NULL, 
	"index" INTEGER NOT NULL, 
	value DOUBLE, 
	evidence JSON NOT NULL, 
	CONSTRAINT pk_sample PRIMARY KEY (process_id, "index"), 
	CONSTRAINT fk_sample_process_id FOREIGN KEY(process_id) REFERENCES process (id) ON DELETE CASCADE
);
INSERT INTO "sample" VALUES(1,0,3694875120.0,'{"flags":[],"elapsed_ns":5}');
INSERT INTO "sample" VALUES(1,1,3694875120.0,'{"flags":[],"elapsed_ns":5}');
CREATE TABLE series (
	id INTEGER NOT NULL, 
	run_number INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	benchmark TEXT NOT NULL, 
	params JSON NOT NULL, 
	"key" TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	better TEXT NOT NULL, 
	counted TEXT NOT NULL, 
	status TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	CONSTRAINT pk_series PRIMARY KEY (id), 
	CONSTRAINT fk_series_run_number FOREIGN KEY(run_number) REFERENCES run (number) ON DELETE CASCADE, 
	CONSTRAINT uq_series_run_number_position UNIQUE (run_number, position)
);
INSERT INTO "series" VALUES(1,1,0,'cpu.clock','{"cpu":"auto","batch_ms":"5","counters":"auto"}','cpu.clock','Hz','higher','cycles of a chain of dependent one-cycle instructions','measured','');
CREATE TABLE snapshot (
	id INTEGER NOT NULL, 
	run_number INTEGER NOT NULL, 
	moment VARCHAR(6) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	about JSON NOT NULL, 
	observations BLOB NOT NULL, 
	CONSTRAINT pk_snapshot PRIMARY KEY (id), 
	CONSTRAINT fk_snapshot_run_number FOREIGN KEY(run_number) REFERENCES run (number) ON DELETE CASCADE, 
	CONSTRAINT fk_snapshot_digest FOREIGN KEY(digest) REFERENCES state (digest), 
	CONSTRAINT uq_snapshot_run_number_moment UNIQUE (run_number, moment)
);
CREATE TABLE state (
	digest VARCHAR(64) NOT NULL, 
	settings BLOB NOT NULL, 
	CONSTRAINT pk_state PRIMARY KEY (digest)
);
CREATE TABLE watch_change (
	metric_id INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	since DATETIME NOT NULL, 
	value DOUBLE NOT NULL, 
	delta DOUBLE, 
	anew BOOLEAN NOT NULL, 
	CONSTRAINT pk_watch_change PRIMARY KEY (metric_id, at), 
	CONSTRAINT fk_watch_change_metric_id FOREIGN KEY(metric_id) REFERENCES watch_metric (id) ON DELETE CASCADE
);
INSERT INTO "watch_change" VALUES(1,'2026-11-22 22:18:54.174000','2026-11-22 22:18:54.174000',0.0,NULL,0);
INSERT INTO "watch_change" VALUES(2,'2026-11-22 22:18:54.174000','2026-11-22 22:18:54.174000',0.0,NULL,0);
INSERT INTO "watch_change" VALUES(3,'2026-11-22 22:18:54.174000','2026-11-22 22:18:54.174000',0.0,NULL,0);
CREATE TABLE watch_event (
	id INTEGER NOT NULL, 
	watched_number INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	last DATETIME NOT NULL, 
	count INTEGER NOT NULL, 
	what TEXT NOT NULL, 
	severity TEXT NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_watch_event PRIMARY KEY (id), 
	CONSTRAINT fk_watch_event_watched_number FOREIGN KEY(watched_number) REFERENCES watched (number) ON DELETE CASCADE
);
INSERT INTO "watch_event" VALUES(1,1,'2026-11-22 21:46:08.629877','2026-11-22 21:46:09.345936',10,'a class','failing','a line');
CREATE TABLE watch_metric (
	id INTEGER NOT NULL, 
	watched_number INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	CONSTRAINT pk_watch_metric PRIMARY KEY (id), 
	CONSTRAINT fk_watch_metric_watched_number FOREIGN KEY(watched_number) REFERENCES watched (number) ON DELETE CASCADE, 
	CONSTRAINT uq_watch_metric_watched_number_name UNIQUE (watched_number, name)
);
INSERT INTO "watch_metric" VALUES(1,1,'ext4-errors/vda','lasting','');
INSERT INTO "watch_metric" VALUES(2,1,'net-crc/eth0','counter','');
INSERT INTO "watch_metric" VALUES(3,1,'net-crc/ifb0','counter','');
CREATE TABLE watch_range (
	metric_id INTEGER NOT NULL, 
	began DATETIME NOT NULL, 
	until DATETIME NOT NULL, 
	looks INTEGER NOT NULL, 
	low DOUBLE NOT NULL, 
	high DOUBLE NOT NULL, 
	total DOUBLE NOT NULL, 
	CONSTRAINT pk_watch_range PRIMARY KEY (metric_id, began), 
	CONSTRAINT fk_watch_range_metric_id FOREIGN KEY(metric_id) REFERENCES watch_metric (id) ON DELETE CASCADE
);
CREATE TABLE watch_span (
	id INTEGER NOT NULL, 
	watched_number INTEGER NOT NULL, 
	began DATETIME NOT NULL, 
	until DATETIME NOT NULL, 
	looks INTEGER NOT NULL, 
	interval DOUBLE NOT NULL, 
	boot TEXT NOT NULL, 
	ending TEXT NOT NULL, 
	cpu DOUBLE, 
	CONSTRAINT pk_watch_span PRIMARY KEY (id), 
	CONSTRAINT fk_watch_span_watched_number FOREIGN KEY(watched_number) REFERENCES watched (number) ON DELETE CASCADE
);
INSERT INTO "watch_span" VALUES(1,1,'2026-11-22 22:18:54.174000','2026-11-22 22:18:56.118000',3,1.0,'b','stopped',2.9999999999999915623e-02);
CREATE TABLE watched (
	number INTEGER NOT NULL, 
	board TEXT NOT NULL, 
	machine VARCHAR(64) NOT NULL, 
	simulated BOOLEAN NOT NULL, 
	memory BLOB NOT NULL, 
	CONSTRAINT pk_watched PRIMARY KEY (number), 
	CONSTRAINT uq_watched_board_machine UNIQUE (board, machine)
);
INSERT INTO "watched" VALUES(1,'local','m',0,X'789C7590DD6EC3200C855F0571B549290D83FC74AF92551349DD361D219181AE53D5771F66D5BA9BDDD8F8E8E3E8D8576E027F65B2D954AAAD36AA1652B605E3FD3C93CE7B9E86B8847182342A5549D154499A0C7E24E19AC1F771F7605D182D396ADD8A52B6B524DC0338126FE97D363682CF9FF7234E9F0681EDAD3978F6E4E3B2D8AF821DC184E7447465F188A6856CF43619C025E81520CEE8D7E79DC99CF84BE62588741056030E6B08C7F23F8C22A171877BA40B7192B8172AAA609A7A45A51665C68D050C3F38460B6FCEC7FE04031DAC73D1DA3B9E5DBA5FB36D4AA4C8E1F60D9E466311');
CREATE INDEX ix_run_label ON run (label);
CREATE INDEX ix_run_board ON run (board);
CREATE INDEX ix_run_status ON run (status);
CREATE INDEX ix_series_benchmark ON series (benchmark);
CREATE INDEX ix_snapshot_digest ON snapshot (digest);
CREATE INDEX ix_watch_span_watched_number_began ON watch_span (watched_number, began);
CREATE INDEX ix_watch_event_watched_number_last ON watch_event (watched_number, last);
CREATE INDEX ix_run_tag_name ON run_tag (name);
COMMIT;
