//! CTF: metadata of both versions, and packets.

use super::check;

/// Metadata beside a good stream; the first byte chooses which.
pub fn metadata(data: &[u8]) -> u64 {
    let Some((&choice, data)) = data.split_first() else { return 0 };
    let streams = packet_seeds();
    let stream = &streams[usize::from(choice) % streams.len()][1..];
    check(tracefile::open_ctf_bytes(data, stream))
}

/// A stream of good metadata; the first byte chooses which.
pub fn packet(data: &[u8]) -> u64 {
    let Some((&choice, data)) = data.split_first() else { return 0 };
    let kinds = kinds();
    let metadata = &kinds[usize::from(choice) % kinds.len()];
    check(tracefile::open_ctf_bytes(metadata.as_bytes(), data))
}

fn kinds() -> [String; 4] {
    [tsdl("le"), tsdl("be"), plain(), json()]
}

pub fn metadata_seeds() -> Vec<Vec<u8>> {
    let packets = packetised(tsdl("le").as_bytes());
    let texts = [(0, tsdl("le").into_bytes()), (1, tsdl("be").into_bytes())];
    let others = [(2, plain().into_bytes()), (0, packets)];
    texts.into_iter().chain(others).map(|(choice, text)| [vec![choice], text].concat()).collect()
}

pub fn metadata2_seeds() -> Vec<Vec<u8>> {
    vec![[vec![3], json().into_bytes()].concat()]
}

pub fn packet_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (choice, big) in [(0, false), (1, true)] {
        let mut seed = vec![choice];
        seed.extend(tsdl_packet(big, 100));
        seed.extend(tsdl_packet(big, 90_000));
        seeds.push(seed);
    }
    let text = b"\x02\x01\0\0\0\0\x05hi\0\x02\0\0\0\x01\x02\x07\x07\x09\0\0\0\0\x01\0".to_vec();
    let varied = b"\x03\0\x0a\x02a\0\x01\x05\x81\x01\x03xyz\x07\0\x14\0\0\0\x09\0\0".to_vec();
    seeds.extend([text, varied]);
    seeds
}

/// What LTTng writes, with every class of fields.
fn tsdl(order: &str) -> String {
    format!(
        "/* CTF 1.8 */
typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 16; align = 8; signed = false; base = 16; }} := uint16_t;
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;
typealias integer {{ size = 27; align = 1; map = clock.mono.value; }} := stamp27_t;
typealias integer {{ size = 64; align = 8; map = clock.mono.value; }} := stamp64_t;
trace {{
  major = 1; minor = 8; byte_order = {order};
  packet.header := struct {{ uint32_t magic; uint32_t stream_id; }};
}};
env {{ domain = \"kernel\"; tracer_major = 2; }};
clock {{ name = mono; freq = 2000000000; offset_s = 5; offset = 7; precision = 1; }};
struct head {{
  enum : integer {{ size = 5; align = 1; }} {{ compact = 0 ... 30, extended = 31 }} id;
  variant <id> {{
    struct {{ stamp27_t timestamp; }} compact;
    struct {{ uint32_t id; stamp64_t timestamp; }} extended;
  }} v;
}} align(8);
stream {{
  id = 0;
  event.header := struct head;
  event.context := struct {{ integer {{ size = 32; align = 8; signed = true; }} _vtid; }};
  packet.context := struct {{
    stamp64_t timestamp_begin; stamp64_t timestamp_end;
    uint64_t content_size; uint64_t packet_size;
    uint64_t packet_seq_num; uint32_t events_discarded; uint32_t cpu_id;
  }};
}};
event {{
  name = \"sched_switch\"; id = 0; stream_id = 0; loglevel = 13;
  fields := struct {{
    integer {{ size = 8; align = 8; encoding = UTF8; }} _prev_comm[16];
    integer {{ size = 32; align = 8; signed = true; }} _prev_tid;
    enum : uint8_t {{ \"RUNNING\" = 0, S = 1, D = 2 ... 4 }} _state;
  }};
}};
event {{
  name = mixed; id = 1; stream_id = 0;
  fields := struct {{
    string _name;
    uint16_t _count; uint32_t _values[_count];
    uint8_t __length; integer {{ size = 8; align = 8; encoding = UTF8; }} _text[__length];
    floating_point {{ exp_dig = 11; mant_dig = 53; align = 8; }} _ratio;
    floating_point {{ exp_dig = 8; mant_dig = 24; align = 8; }} _small;
    integer {{ size = 3; align = 1; signed = true; }} _bits;
    struct {{ uint8_t a; string b; }} _nested[2];
    enum : uint8_t {{ one = 1, many = 2 ... 255 }} _tag;
    variant <_tag> {{ uint32_t one; string many; }} _either;
  }};
}};
"
    )
}

fn tsdl_packet(big: bool, stamp: u64) -> Vec<u8> {
    let u16 = |v: u16| if big { v.to_be_bytes() } else { v.to_le_bytes() };
    let u32 = |v: u32| if big { v.to_be_bytes() } else { v.to_le_bytes() };
    let u64 = |v: u64| if big { v.to_be_bytes() } else { v.to_le_bytes() };
    let head = |id: u32, stamp: u32| {
        if big { u32(id << 27 | stamp) } else { u32(stamp << 5 | id) }
    };
    let mut events = Vec::new();
    events.extend(head(0, 200));
    events.extend(u32(42));
    events.extend(b"a name\0\0\0\0\0\0\0\0\0\0");
    events.extend(u32(7));
    events.push(2);
    // an extended head: the id's five bits, then a byte boundary
    events.push(if big { 31 << 3 } else { 31 });
    events.extend(u32(1));
    events.extend(u64(stamp + 5000));
    events.extend(u32(43));
    events.extend(b"text\0");
    events.extend(u16(2));
    events.extend(u32(1));
    events.extend(u32(2));
    events.extend(b"\x03abc");
    events.extend(u64(1.5f64.to_bits()));
    events.extend(u32(2.5f32.to_bits()));
    events.push(5);
    events.extend(b"\x01x\0\x02y\0");
    events.extend(b"\x02many\0");
    let size = (8 + 48 + events.len()) as u64 * 8;
    let mut packet = Vec::new();
    packet.extend(u32(0xC1FC_1FC1));
    packet.extend(u32(0));
    for value in [stamp, stamp + 6000, size, size + 64, stamp / 100] {
        packet.extend(u64(value));
    }
    packet.extend(u32(0));
    packet.extend(u32(1));
    packet.extend(events);
    packet.extend([0; 8]);
    packet
}

/// Without packets' heads and contexts, as small generators write it.
fn plain() -> String {
    "/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; byte_order = le; } := stamp;
trace { major = 1; minor = 8; byte_order = be; };
stream { event.header := struct { stamp timestamp; u8 id; }; };
event { name = \"log\"; id = 0; fields := struct { u8 level; string text; }; };
event { name = \"list\"; id = 1; fields := struct { u8 n; u8 items[n]; }; };
"
    .into()
}

/// Text in one packet of metadata.
fn packetised(text: &[u8]) -> Vec<u8> {
    let bits = ((37 + text.len()) * 8) as u32;
    let mut packet = 0x75D1_1D57u32.to_le_bytes().to_vec();
    packet.extend([0; 20]);
    packet.extend(bits.to_le_bytes());
    packet.extend((bits + 64).to_le_bytes());
    packet.extend([0, 0, 0, 1, 8]);
    packet.extend(text);
    packet.extend([0; 8]);
    packet
}

/// CTF 2 with what CTF 1.8 does not have.
fn json() -> String {
    let u8 = r#"{"type":"fixed-length-unsigned-integer","length":8,"byte-order":"little-endian","alignment":8}"#;
    let fragments = [
        r#"{"type":"preamble","version":2}"#.to_owned(),
        format!(r#"{{"type":"field-class-alias","name":"byte","field-class":{u8}}}"#),
        r#"{"type":"trace-class","environment":{"domain":"made"}}"#.to_owned(),
        r#"{"type":"clock-class","id":"c","name":"c","frequency":1000000000,"origin":"unix-epoch","offset-from-origin":{"seconds":1,"cycles":2}}"#.to_owned(),
        r#"{"type":"data-stream-class","default-clock-class-id":"c","event-record-header-field-class":{"type":"structure","member-classes":[
            {"name":"id","field-class":{"type":"fixed-length-unsigned-integer","length":8,"byte-order":"little-endian","alignment":8,"roles":["event-record-class-id"]}},
            {"name":"ts","field-class":{"type":"variable-length-unsigned-integer","roles":["default-clock-timestamp"]}}]}}"#.to_owned(),
        r#"{"type":"event-record-class","id":0,"name":"varied","payload-field-class":{"type":"structure","member-classes":[
            {"name":"tag","field-class":{"type":"variable-length-unsigned-integer"}},
            {"name":"text","field-class":{"type":"null-terminated-string"}},
            {"name":"there","field-class":{"type":"fixed-length-boolean","length":8,"byte-order":"little-endian","alignment":8}},
            {"name":"maybe","field-class":{"type":"optional","selector-field-location":{"path":["there"]},"field-class":"byte"}},
            {"name":"which","field-class":{"type":"variant","selector-field-location":{"path":["tag"]},"options":[
                {"selector-field-ranges":[[0,1]],"field-class":"byte"},
                {"selector-field-ranges":[[2,9]],"field-class":{"type":"variable-length-signed-integer"}}]}},
            {"name":"n","field-class":"byte"},
            {"name":"blob","field-class":{"type":"dynamic-length-blob","length-field-location":{"path":["n"]}}},
            {"name":"flags","field-class":{"type":"fixed-length-bit-map","length":8,"byte-order":"little-endian","flags":{"a":[[0,0]],"b":[[1,3]]}}}
        ]}}"#.to_owned(),
    ];
    fragments.map(|fragment| format!("\u{1e}{fragment}\n")).concat()
}
