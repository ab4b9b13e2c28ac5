-- Told to wrk by benchvise.measure.hostside.wrk: writes its counts as one line, unrounded.
function done(summary, latency, requests)
  local counts = {
    duration_us = summary.duration,
    requests = summary.requests,
    bytes = summary.bytes,
    connect = summary.errors.connect,
    read = summary.errors.read,
    write = summary.errors.write,
    status = summary.errors.status,
    timeout = summary.errors.timeout,
    p50_us = latency:percentile(50),
    p90_us = latency:percentile(90),
    p99_us = latency:percentile(99),
  }
  local parts = {}
  for name, count in pairs(counts) do
    parts[#parts + 1] = string.format('"%s": %d', name, count)
  end
  io.write("\nbenchvise {", table.concat(parts, ", "), "}\n")
end
