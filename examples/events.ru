# frozen_string_literal: true

# Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): a counter that goes on where a browser
# has heard it last.
#
#   plait serve examples/events.ru --on fibers
#
# The body is a streaming one (Rack 3): it is given a stream to write to, and each write is sent at once.

# Events of one answer: then it ends, and the browser asks anew, with the id of the last event.
COUNT = Integer(ENV.fetch("EVENTS", "100"))
PAUSE = 0.1

PAGE = <<~HTML
  <!doctype html><meta charset="utf-8"><title>Events</title><p id="heard"></p>
  <script>
    const heard = [];
    const source = new EventSource("/events");
    source.addEventListener("tick", (event) => {
      heard.push(event.data);
      document.getElementById("heard").textContent = heard.join(" ");
    });
  </script>
HTML

ticks = lambda do |stream, last|
  stream.write("retry: 10\n\n")
  1.upto(COUNT) do |count|
    number = last + count
    stream.write("id: #{number}\nevent: tick\ndata: #{number}\n\n")
    sleep(PAUSE)
  end
ensure
  stream.close
end

run(lambda do |env|
  next [200, { "content-type" => "text/html; charset=utf-8" }, [PAGE]] unless env["PATH_INFO"] == "/events"

  last = env["HTTP_LAST_EVENT_ID"].to_i
  [200, { "content-type" => "text/event-stream", "cache-control" => "no-cache" }, ->(stream) { ticks.call(stream, last) }]
end)
