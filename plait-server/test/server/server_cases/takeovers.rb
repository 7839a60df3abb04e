# frozen_string_literal: true

module ServerCases
  # Connections that apps take over.
  module Takeovers
    def test_full_hijack
      taken = Thread::Queue.new
      serve(lint: false) do |env|
        next [200, {}, []] if env["PATH_INFO"] == "/"

        taken << env["rack.hijack"].call
        [200, {}, []]
      end
      caller = connect.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\nearly")
      socket = taken.pop
      assert_equal("early", socket.readpartial(10))
      caller.send("ping")
      assert_equal("ping", socket.readpartial(10))
      socket.write("raw")
      socket.close
      assert_equal("raw", caller.rest)
      assert_serves
    end

    # The body of the next request is on its way to a file.
    def test_what_an_app_keeps_of_a_request_is_of_no_use_in_the_next_one
      kept = Thread::Queue.new
      serve(lint: false) do |env|
        env["PATH_INFO"] == "/keep" ? kept << env["rack.hijack"] : env["rack.input"].read
        [200, {}, [env["PATH_INFO"]]]
      end
      body = "z" * 3_000_000
      20.times do |number|
        caller = connect
        assert_equal("/keep", caller.get("/keep").body)
        writer = Thread.new { caller.send("POST /next HTTP/1.1\r\nHost: a\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}") }
        uses = misuse(kept.pop, number.odd?) { writer.alive? || caller.socket.wait_readable(0).nil? }
        assert_equal("/next", caller.hear.body)
        assert_equal(0, uses)
        writer.join
      end
    end

    # Programs for WebSocket read and write a socket of the system.
    def test_a_connection_that_an_app_takes_over_speaks_tls_still
      assert_no_leaks do
        caller, socket = taken_over_by_tls("early")
        assert_equal("early", socket.readpartial(10))
        large = Random.new(6).bytes(1_000_000)
        writer = Thread.new { socket.write(large) }
        assert_equal(large, caller.raw(large.bytesize))
        writer.join
        caller.send("ping")
        assert_equal("ping", socket.readpartial(10))
        socket.write("last")
        socket.close
        assert_equal("last", caller.rest)
        caller.close
        @server.stop(within: 1)
        assert(@thread.join(20))
      end
    end

    def test_a_peer_that_ends_what_an_app_has_taken_over
      caller, socket = taken_over_by_tls
      caller.close
      assert_predicate(socket, :eof?)
      socket.close
    end

    # @return [Array(Caller, UNIXSocket)] the peer, and what the app has
    def taken_over_by_tls(early = "")
      taken = Thread::Queue.new
      serve_tls(lint: false) do |env|
        taken << env["rack.hijack"].call
        [200, {}, []]
      end
      [connect_tls.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n#{early}"), taken.pop]
    end

    # As Rack 2 has it, and the gem faye-websocket needs it.
    def test_the_socket_of_a_full_hijack_is_in_env
      serve(lint: false) do |env|
        taken = env["rack.hijack"].call
        env["rack.hijack_io"].write("raw") if env["rack.hijack_io"].equal?(taken)
        env["rack.hijack_io"].close
        [-1, {}, []]
      end
      assert_equal("raw", connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").rest)
    end

    def test_an_app_that_fails_after_a_full_hijack
      kept = []
      serve(lint: false) do |env|
        kept << env["rack.hijack"].call
        raise "boom"
      end
      assert_closed(connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
      assert(kept.first.closed?)
      assert_match(/boom/, @errors.next)
    end

    def test_an_app_that_is_interrupted_as_it_takes_a_connection_over
      GC.disable
      serve(lint: false) { |env| interrupt_behind(:handle_interrupt, KeyError) { env["rack.hijack"].call } }
      assert_closed(connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
      assert_match(/KeyError/, @errors.next)
    ensure
      GC.enable
    end

    def test_partial_hijack
      serve do
        [101, { "connection" => "Upgrade", "upgrade" => "echo", "rack.hijack" => lambda { |stream|
          stream.write("#{stream.read(3)}!")
          stream.close
        } }, []]
      end
      caller = connect.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
      answer = caller.hear
      assert_equal([101, "Upgrade", "echo"], [answer.status, *answer.fields.values_at("connection", "upgrade")])
      assert_equal("hey!", caller.send("hey").rest)
    end

    # What writes later than it returns, as events are sent.
    def test_partial_hijack_without_another_protocol
      taken = Thread::Queue.new
      serve(lint: false) { [200, { "content-type" => "text/event-stream", "rack.hijack" => ->(io) { taken << io } }, []] }
      caller = connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      socket = taken.pop
      assert_equal("close", (head = caller.raw)[/^connection: (.*)\r$/, 1])
      refute_match(/^transfer-encoding/, head)
      2.times { |number| socket.write("data: #{number}\n\n") }
      socket.close
      assert_match(/data: 0\n\ndata: 1\n\n\z/, caller.rest)
    end

    # The env may live on; the connection may be at its next request.
    def test_a_hijack_that_comes_too_late
      env = nil
      serve { |now| (env ||= now) && [200, {}, []] }
      caller = connect
      2.times { caller.get }
      assert_raises(Plait::ConnectionClosed) { env["rack.hijack"].call }
      assert_equal(200, caller.get.status)
    end

    # Puma's.
    def test_what_is_called_after_a_reply
      calls = Thread::Queue.new
      serve(lint: false) do |env|
        env["rack.after_reply"] << -> { calls << :first } << -> { raise "boom" } << -> { calls << :last }
        [200, {}, env["PATH_INFO"] == "/each" ? %w[x].each : ["x"]]
      end
      caller = connect
      %w[/ /each].each do |path|
        assert_equal("x", caller.get(path).body)
        assert_equal(%i[first last], [calls.pop, calls.pop])
        assert_match(/boom/, @errors.next)
      end
    end

    private

    # @yieldreturn [Boolean] whether to go on
    # @return [Integer] how often it was of use
    def misuse(hijack, writes)
      uses = 0
      while yield
        begin
          uses += 1 if writes ? hijack.write(["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nEVIL!"]) : hijack.call
        rescue Plait::ConnectionClosed, IOError
          nil
        end
        Thread.pass
      end
      uses
    end
  end
end
