/* The system as the probe sees it. See host.h. */
#include "core/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/kernels.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/place.h"

const char *host_arch(void)
{
#if defined(__x86_64__)
	return "x86_64";
#elif defined(__aarch64__)
	return "aarch64";
#elif defined(__arm__) && __ARM_ARCH >= 7
	return "armv7hf";
#elif defined(__arm__)
	return "armv6hf";
#elif defined(__riscv) && __riscv_xlen == 64
	return "riscv64";
#else
#error "no name for this architecture"
#endif
}

static void describe_file(struct json *j, const char *key, const char *path)
{
	char text[256];
	ssize_t n = file_read(path, text, sizeof(text));

	if (n > 0)
		json_string(j, key, text);
	else
		json_na(j, key, n < 0 ? errno_name((int)-n) : "empty");
}

/* The value of "key : value" in the block of that CPU, or, for cpu -1, the first anywhere. */
static bool cpuinfo_value(const char *cpuinfo, const char *key, int cpu, char *value, size_t size)
{
	size_t n = strlen(key);
	int block = -1;

	for (const char *line = cpuinfo; *line;) {
		size_t length = strcspn(line, "\n");
		const char *colon = memchr(line, ':', length);

		if (length == 0)
			block = -1; /* what follows the last block is about no single CPU */
		if (colon && strncmp(line, "processor", 9) == 0)
			block = atoi(colon + 1);
		if (colon && (cpu < 0 || block == cpu) && strncmp(line, key, n) == 0 &&
		    line + n + strspn(line + n, " \t") == colon) {
			const char *at = colon + 1 + strspn(colon + 1, " \t");
			snprintf(value, size, "%.*s", (int)(line + length - at), at);
			return value[0] != '\0';
		}
		line += length + (line[length] == '\n');
	}
	return false;
}

/* 64-bit ARM kernels give numbers only: those of the cores that boards have, by Arm's manuals. */
static const char *arm_core(unsigned long implementer, unsigned long part)
{
	static const struct {
		unsigned long part;
		const char *name;
	} cores[] = {
		{0xb76, "ARM1176"},     {0xc05, "Cortex-A5"},   {0xc07, "Cortex-A7"},
		{0xc08, "Cortex-A8"},   {0xc09, "Cortex-A9"},   {0xc0d, "Cortex-A17"},
		{0xc0f, "Cortex-A15"},  {0xd01, "Cortex-A32"},  {0xd03, "Cortex-A53"},
		{0xd04, "Cortex-A35"},  {0xd05, "Cortex-A55"},  {0xd07, "Cortex-A57"},
		{0xd08, "Cortex-A72"},  {0xd09, "Cortex-A73"},  {0xd0a, "Cortex-A75"},
		{0xd0b, "Cortex-A76"},  {0xd0c, "Neoverse-N1"}, {0xd0d, "Cortex-A77"},
		{0xd41, "Cortex-A78"},  {0xd42, "Cortex-A78AE"}, {0xd44, "Cortex-X1"},
		{0xd46, "Cortex-A510"}, {0xd47, "Cortex-A710"}, {0xd49, "Neoverse-N2"},
		{0xd80, "Cortex-A520"}, {0xd81, "Cortex-A720"},
	};

	for (size_t i = 0; implementer == 0x41 && i < sizeof(cores) / sizeof(cores[0]); i++)
		if (cores[i].part == part)
			return cores[i].name;
	return NULL;
}

/* The CPU's name stands under another key on each architecture. */
bool host_cpu_model(const char *cpuinfo, int cpu, char *model, size_t size)
{
	static const char *const own[] = {"model name", "Model Name", "uarch"};
	static const char *const any[] = {"model name", "Model Name", "uarch", "Hardware", "isa"};
	char implementer[16], part[16];

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (cpuinfo_value(cpuinfo, own[i], cpu, model, size))
			return true;
	if (cpuinfo_value(cpuinfo, "CPU implementer", cpu, implementer, sizeof(implementer)) &&
	    cpuinfo_value(cpuinfo, "CPU part", cpu, part, sizeof(part))) {
		const char *name = arm_core(strtoul(implementer, NULL, 16),
					    strtoul(part, NULL, 16));
		if (name)
			snprintf(model, size, "%s", name);
		else
			snprintf(model, size, "implementer %s part %s", implementer, part);
		return true;
	}
	for (size_t i = 0; i < sizeof(any) / sizeof(any[0]); i++)
		if (cpuinfo_value(cpuinfo, any[i], -1, model, size))
			return true;
	return false;
}

static void describe_cpu_model(struct json *j, int cpu)
{
	static char cpuinfo[65536];
	char model[256];

	if (file_read("/proc/cpuinfo", cpuinfo, sizeof(cpuinfo)) < 0)
		cpuinfo[0] = '\0';
	if (host_cpu_model(cpuinfo, cpu, model, sizeof(model)))
		json_string(j, "cpu_model", model);
	else
		json_na(j, "cpu_model", "/proc/cpuinfo does not say");
}

static void describe_memory(struct json *j)
{
	char text[256];
	unsigned long long kib;

	if (file_read("/proc/meminfo", text, sizeof(text)) > 0 &&
	    sscanf(text, "MemTotal: %llu", &kib) == 1)
		json_unsigned(j, "memory_bytes", kib * 1024);
	else
		json_na(j, "memory_bytes", "no /proc/meminfo");
}

static void describe_times(struct json *j)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	json_unsigned(j, "time_monotonic_ns", clock_ns());
	json_unsigned(j, "time_realtime_ns",
		      (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	json_unsigned(j, "timer_resolution_ns", clock_timer()->resolution_ns);
	json_number(j, "timer_cost_ns", clock_timer()->cost_ns);
}

void host_describe(struct json *j, int cpu)
{
	struct utsname name;
	char governor[96];

	cpu = cpu < 0 ? 0 : cpu;
	snprintf(governor, sizeof(governor),
		 "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
	uname(&name);
	json_begin(j, "host");
	json_string(j, "probe", PROBE_VERSION);
	json_signed(j, "protocol", PROBE_PROTOCOL);
	json_string(j, "arch", host_arch());
	json_string(j, "machine", name.machine);
	json_string(j, "hostname", name.nodename);
	json_string(j, "kernel", name.release);
	json_string(j, "kernel_version", name.version);
	describe_cpu_model(j, cpu);
	describe_file(j, "board_model", "/proc/device-tree/model");
	describe_file(j, "product", "/sys/class/dmi/id/product_name");
	describe_memory(j);
	describe_file(j, "cpus_online", "/sys/devices/system/cpu/online");
	place_describe_allowed(j);
	place_describe_caches(j, cpu);
	json_signed(j, "page_size", sysconf(_SC_PAGESIZE));
	describe_file(j, "thp", "/sys/kernel/mm/transparent_hugepage/enabled");
	describe_file(j, "governor", governor);
	describe_file(j, "clocksource",
		      "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	json_open(j, "features", '[');
	kernels_describe_features(j);
	json_close(j, ']');
	json_signed(j, "uid", (int64_t)getuid());
	describe_times(j);
}
