# frozen_string_literal: true

require "tmpdir"
require "test_helper"
require "plait/server"
require "support/certificates"
require_relative "../server/http2/raw_connection"
require_relative "../server/lone_server"

# All kinds of load at once, for a while, on a server whose memory must not grow. PLAIT_SOAK=600 goes on for ten minutes.
class ServerSoakTest < Minitest::Test
  include RawHTTP2

  SECONDS = Integer(ENV.fetch("PLAIT_SOAK", "10"))
  # In which the heap takes the size that it needs.
  WARM_UP = [SECONDS / 2, 120].min
  # What the memory may grow by afterwards: a part. Short runs are over before the heap has its size: bytes.
  GROWTH = 0.05
  BYTES = SECONDS < 60 ? 24_000_000 : 3_000_000
  # Likewise, of what is in use after a collection.
  HELD = SECONDS < 60 ? 12_000_000 : 0
  # Bytes of a small object.
  SLOT = 40
  # Bytes of a body that lies in a file.
  SPOOLED = "s" * 300_000
  RESET = [1, 0].pack("ii").freeze
  # A machine that others use stands still for half a minute at times: that is no fault of the server's.
  PATIENCE = %i[head_timeout body_timeout write_timeout queue_timeout handshake_timeout].to_h { |name| [name, 120] }.freeze
  KINDS = %i[kept short pipelined uploads large raised cut over_tls over_http2].freeze

  def hard_timeout = SECONDS + 400

  # Fibers alone are half of hybrid: they have their turn when there is time.
  MECHANISMS = ENV["PLAIT_SOAK"] ? %i[hybrid threads fibers] : %i[hybrid threads]

  MECHANISMS.each do |mechanism|
    define_method(:"test_memory_under_mixed_load_on_#{mechanism}") do
      with_server(mechanism) do
        samples = under_load { watch }
        report(mechanism, samples) if ENV["PLAIT_SOAK"]
        assert_flat(samples)
        KINDS.each { |kind| assert_operator(@done[kind], :>, 3, "rounds of #{kind}") }
      end
    end
  end

  private

  def with_server(mechanism)
    Dir.mktmpdir do |folder|
      cert, key = files_of(Certificates::Authority.new.issue("IP:127.0.0.1"), folder)
      LoneServer.run(mechanism, quiet: true, cert: cert, key: key, limit: 64, **PATIENCE) do |server|
        @lone = server
        @done = Hash.new(0)
        yield
      end
    end
  end

  def files_of(leaf, folder)
    { "cert.pem" => leaf.certificate, "key.pem" => leaf.key }.map do |name, thing|
      File.join(folder, name).tap { |path| File.write(path, thing.to_pem) }
    end
  end

  # Each kind of load goes on beside the others; what one of them meets is raised here.
  def under_load
    @over = false
    clients = KINDS.map { |kind| Thread.new { go_on(kind) until @over && @done[kind] > 3 } }
    clients.each { |thread| thread.report_on_exception = false }
    yield
  ensure
    @over = true
    clients&.each(&:join)
  end

  def go_on(kind)
    __send__(kind)
    @done[kind] += 1
    sleep(0.01) # each has its turn, however many others there are
  end

  # By the clock: each sample is of a second and more, the longer the busier the machine is.
  # @return [Array<Hash>]
  def watch
    began = Plait::Deadline.now
    samples = []
    until (samples.last&.fetch(:at) || 0) >= SECONDS
      sleep(1)
      samples << @lone.tell.merge(at: Plait::Deadline.now - began)
    end
    samples
  end

  def assert_flat(samples)
    warm = samples.select { |sample| sample[:at] > WARM_UP }
    early, late = early_and_late(warm.map { |sample| sample[:memory] }, 0.5)
    assert_operator(late - early, :<=, [early * GROWTH, BYTES].max, "bytes by which it has grown, from #{early}")
    early, late = early_and_late(warm.map { |sample| held(sample) }, 0.1)
    assert_operator(late - early, :<=, [early * GROWTH, HELD].max, "bytes by which what is in use has grown, from #{early}")
    %i[files threads].each { |what| assert_operator(warm.last[what], :<=, warm.first[what] + 64, what) }
  end

  # A quantile of the first and of the last quarter.
  def early_and_late(figures, part)
    quarter = [figures.size / 4, 1].max
    [figures.first(quarter), figures.last(quarter)].map { |some| some.sort[Integer(quarter * part)] }
  end

  # The process has as much as was ever needed between two collections: a leak has to fill that before it grows. What is under
  # way comes and goes by megabytes; a leak is there also when there is little of it.
  def held(sample) = sample[:used].to_i + (sample[:slots] * SLOT)

  def report(mechanism, samples)
    lines = samples.each_slice([samples.size / 20, 1].max).map do |slice|
      at, memory, *others = slice.last.values_at(:at, :memory, :files, :threads, :fibers, :requests)
      "#{at.round} s: #{memory >> 10} KB, #{held(slice.last) >> 10} KB in use, #{others.join(" ")}"
    end
    puts("", "#{mechanism} (memory, descriptors, threads, fibers, requests):", *lines)
  end

  # ---- the kinds ----

  def with(caller)
    yield caller
  ensure
    caller.close
  end

  def ask(caller, path = "/", body = "")
    caller.send("POST #{path} HTTP/1.1\r\nHost: a\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}").hear
  end

  def kept
    with(@lone.connect) do |caller|
      %w[/ /wait /compute /each].cycle.first(40).each { |path| assert_equal(200, ask(caller, path, "abc").status) }
    end
  end

  def short = 20.times { with(@lone.connect) { |caller| assert_equal("abc", ask(caller, "/", "abc").body) } }

  def pipelined
    with(@lone.connect) do |caller|
      caller.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n" * 30)
      30.times { assert_equal(200, caller.hear.status) }
    end
  end

  def uploads = with(@lone.connect) { |caller| 3.times { assert_equal(SPOOLED, ask(caller, "/", SPOOLED).body) } }

  def large = with(@lone.connect) { |caller| assert_equal(1_000_000, ask(caller, "/large").body.bytesize) }

  def raised = with(@lone.connect) { |caller| assert_equal(500, ask(caller, "/raise").status) }

  def cut
    with(@lone.connect.send("POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n#{"12345"[0, rand(6)]}")) do |caller|
      caller.socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, RESET)
    end
  end

  def tls(*protocols)
    context = OpenSSL::SSL::SSLContext.new
    context.alpn_protocols = protocols
    socket = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", @lone.tls_port), context)
    socket.sync_close = true
    socket.connect
  end

  def over_tls
    with(Caller.new(tls("http/1.1"))) { |caller| 5.times { assert_equal(SPOOLED, ask(caller, "/", SPOOLED).body) } }
  end

  # One of its streams is reset by the client.
  def over_http2
    socket = tls("h2")
    connection = RawConnection.new(socket).write(hello)
    connection.write([1, 3, 5, 7].map { |id| request(id, GET[0..2] + [[":path", "/wait"]]) }.join + reset(7))
    ended = []
    ended |= [connection.next&.then { |frame| frame.flags.anybits?(END_STREAM) ? frame.id : 0 }] until ([1, 3, 5] - ended).empty?
  ensure
    socket&.close
  end
end
