-- Requests for wrk: bodies, one per line, of the file that is named first; prints figures as JSON.
local bodies, place = {}, 0

function init(arguments)
  for line in io.lines(arguments[1]) do
    bodies[#bodies + 1] = line
  end
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  place = place % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[place])
end

function done(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '\n{"p50": %f, "p95": %f, "p99": %f, "per_second": %f, "errors": %d}\n',
    latency:percentile(50) / 1000, latency:percentile(95) / 1000, latency:percentile(99) / 1000,
    summary.requests / summary.duration * 1e6, failed
  ))
end
