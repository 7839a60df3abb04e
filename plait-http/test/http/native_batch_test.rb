# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require_relative "wire_cases"

if Plait::HTTP.const_defined?(:NativeBatch)
  # A wire that launches what it is to get, and concludes what a batch does not take in by itself: all that holds for a wire
  # that waits by itself must hold for it.
  class LaunchedWire < Plait::HTTP.const_get(:NativeWire)
    def self.name = superclass.name

    def get(url, offset, block, timeouts, deadline)
      return super if launched?

      in_batch do |batch|
        landed = nil
        launch(url, url[0, offset], block, timeouts, deadline, batch, self)
        batch.each_landed { |_wire, response| landed = response } until batch.empty?
        landed || (launched? ? conclude : super)
      end
    end

    private

    def in_batch
      batch = Plait::HTTP.const_get(:NativeBatch).new
      yield(batch)
    ensure
      batch.evacuate
      close if launched?
      batch.close
    end
  end

  class LaunchedWireTest < Minitest::Test
    include WireCases

    # Elsewhere it does what any other wire does.
    public_instance_methods.grep(/\Atest_/).grep_v(/fibers/).each { |name| undef_method(name) }

    def wire_class = LaunchedWire
  end

  # A batch carries many requests: each request gets its own answer, also where another one leaves before its answer.
  class NativeBatchTest < Minitest::Test
    HTTP = Plait::HTTP
    BLOCK = "Host: origin\r\n"
    PATIENT = HTTP::Timeouts.new(first_byte: 60, read: 60)

    # An answer of another kind for each number: those that a batch takes in by itself, and those that are to be concluded.
    KINDS = [
      ->(text) { "HTTP/1.1 200 OK\r\nContent-Length: #{text.bytesize}\r\n\r\n#{text}" },
      ->(text) { "HTTP/1.1 404 No\r\nContent-Length: #{text.bytesize}\r\n\r\n#{text}" },
      ->(text) { "HTTP/1.1 200 OK\r\nContent-Encoding: x\r\nContent-Length: #{text.bytesize}\r\n\r\n#{text}" },
      ->(text) { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n#{text.bytesize.to_s(16)}\r\n#{text}\r\n0\r\n\r\n" },
      ->(text) { "HTTP/1.1 103 Hint\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: #{text.bytesize}\r\n\r\n#{text}" },
      ->(text) { "HTTP/1.1 200 OK\r\nContent-Length: #{text.bytesize * 5000}\r\n\r\n#{text * 5000}" }
    ].freeze
    ORIGIN = lambda do |peer|
      while (head = peer.head)
        number = head[%r{ /(\d+)}, 1].to_i
        peer.say(KINDS[number % KINDS.size].call("<#{number}>"), by: number % 3 == 2 ? 7000 : nil)
      end
    end

    def wire_to(server) = HTTP.const_get(:NativeWire).new(server.connect, endpoint: "tcp://origin:80")

    def launch(wire, batch, path: "/1", timeouts: PATIENT, passenger: wire)
      wire.launch("http://origin#{path}", "http://origin", BLOCK, timeouts, nil, batch, passenger)
    end

    # On a fiber, with a batch.
    def aloft
      Plait.run(on: :fibers) do |scope|
        scope.async do
          batch = HTTP.const_get(:NativeBatch).new
          yield(batch, scope)
        ensure
          batch&.close
        end.value
      end
    end

    # @return [Hash] passenger => response, or nil where it is to be concluded
    def land_all(batch)
      landed = {}
      batch.each_landed { |passenger, response| landed[passenger] = response } until batch.empty?
      landed
    end

    def texts(numbers) = numbers.to_h { |number| [number, "<#{number}>" * (number % KINDS.size == 5 ? 5000 : 1)] }

    def test_each_has_its_own_answer_of_whatever_kind
      RawServer.open(ORIGIN) { |server| assert_own_answers(Array.new(60) { wire_to(server) }) }
    end

    # Session tickets and halves of records are no answers, and no event tells of what libssl has read ahead.
    def test_each_has_its_own_answer_by_tls
      tls = WireCases::TLS
      secured = ->(peer) { ORIGIN.call(peer.secure(server_context(tls::LEAF))) }
      RawServer.open(secured) do |server|
        client = Plait.const_get(:Io)::TLS::Client.new(cert_store: tls::AUTHORITY.store)
        endpoint = Plait.const_get(:Io)::Endpoint.tls("localhost", server.port)
        wires = Array.new(60) { HTTP.const_get(:NativeWire).new(client.handshake(server.connect, endpoint), endpoint: "x") }
        assert_own_answers(wires)
      end
    end

    def server_context(leaf)
      OpenSSL::SSL::SSLContext.new.tap { |context| context.add_certificate(leaf.certificate, leaf.key) }
    end

    def assert_own_answers(wires)
      aloft do |batch|
        3.times do |round|
          numbers = (0...60).to_h { |at| [(round * 100) + at, wires[at]] }
          numbers.each { |number, wire| assert(launch(wire, batch, path: "/#{number}", passenger: number)) }
          responses = land_all(batch).to_h { |number, response| [number, response || numbers[number].conclude] }
          assert_equal(texts(numbers.keys), responses.transform_values(&:body).sort.to_h)
          assert(wires.all?(&:reusable?))
        end
      end
    end

    def test_the_plain_ones_are_taken_in_by_the_batch
      RawServer.open(ORIGIN) do |server|
        aloft do |batch|
          6.times { |number| launch(wire_to(server), batch, path: "/#{number}", passenger: number) }
          landed = land_all(batch)
          assert_equal(["<0>", "<3>", "<5>" * 5000], landed.values_at(0, 3, 5).map(&:body))
          assert_equal([1, 2, 4], landed.select { |_, response| response.nil? }.keys.sort)
        end
      end
    end

    def test_a_response_tells_of_its_request
      RawServer.open(ORIGIN) do |server|
        aloft do |batch|
          wire = wire_to(server)
          launch(wire, batch, path: "/0")
          response = land_all(batch)[wire]
          assert_equal(["http://origin/0", 200], [response.url, response.status])
          assert(response.durations.all? { |seconds| seconds >= 0 })
          assert(wire.relaunch("http://origin/6?x#y", batch, wire))
          assert_equal("<6>", land_all(batch)[wire].body)
        end
      end
    end

    def test_only_urls_of_the_same_origin_are_relaunched
      RawServer.open(ORIGIN) do |server|
        aloft do |batch|
          wire = wire_to(server)
          refute(wire.relaunch("http://origin/0", batch, wire), "nothing was launched before")
          launch(wire, batch, path: "/0")
          land_all(batch)
          ["http://origin.evil/0", "http://origin:8/0", "http://other/0", "http://orig", "", nil, :"http://origin/0",
           "http://origin/a b", "http://origin/\r\nX: y", "http://origin/#{"x" * 20_000}"].each do |url|
            refute(wire.relaunch(url, batch, wire), url.inspect)
          end
          assert_predicate(wire, :reusable?)
        end
      end
    end

    def test_elsewhere_than_on_our_loop_nothing_is_launched
      RawServer.open(ORIGIN) do |server|
        wire = wire_to(server)
        batch = HTTP.const_get(:NativeBatch).new
        refute_predicate(batch, :open?)
        refute(launch(wire, batch))
        aloft do |other|
          assert_same(false, Thread.new { launch(wire, other) }.value)
          other.close
          refute(launch(wire, other))
        end
        assert_equal("<0>", wire.get("/0", 0, BLOCK, PATIENT, nil).body)
      end
    end

    def test_who_is_late_is_to_be_concluded_and_says_so
      script = ->(peer) { peer.head.include?("/never") ? peer.stall : sleep(0.1) && peer.say(KINDS[0].call("hi")) && peer.stall }
      RawServer.open(script) do |server|
        aloft do |batch|
          late, early = Array.new(2) { wire_to(server) }
          launch(late, batch, path: "/never", timeouts: HTTP::Timeouts.new(first_byte: 0.05))
          launch(early, batch, path: "/soon")
          landed = land_all(batch)
          assert_equal([nil, "hi"], [landed.fetch(late), landed[early].body])
          assert_match(/sent no answer in time/, assert_raises(Plait::ReadTimeout) { late.conclude }.message)
          assert_predicate(late, :closed?)
        end
      end
    end

    # The answer is there, but the loop was busy with something else until the deadline had passed.
    def test_an_answer_that_nobody_had_time_to_look_at_is_not_late
      said = Queue.new
      RawServer.open(->(peer) { peer.head && peer.say(KINDS[0].call("hi")) && (said << true) && peer.stall }) do |server|
        aloft do |batch|
          wires = Array.new(300) { wire_to(server) }
          launched = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          wires.each { |wire| launch(wire, batch, timeouts: HTTP::Timeouts.new(first_byte: 0.3)) }
          Thread.pass until said.size == 300 && Process.clock_gettime(Process::CLOCK_MONOTONIC) > launched + 1
          assert_equal(["hi"] * 300, land_all(batch).values.map { |response| response&.body })
        end
      end
    end

    # Of a body that the batch was receiving.
    def test_who_stalls_cuts_or_is_closed_within_a_body
      part = "HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n#{"x" * 20_000}"
      {
        :stall.to_proc => [0.05, Plait::ReadTimeout, /did not go on with its answer in time/],
        ->(peer) { peer.finish && peer.stall } => [60, Plait::RemoteProtocolError, /ended before Content-Length/],
        :reset.to_proc => [60, Plait::Error, /ended before Content-Length|reset by peer/]
      }.each do |ending, (read, error, message)|
        RawServer.open(->(peer) { peer.head && peer.say(part) && ending.call(peer) }) do |server|
          aloft do |batch|
            wire = wire_to(server)
            launch(wire, batch, timeouts: HTTP::Timeouts.new(first_byte: 60, read: read))
            assert_equal({ wire => nil }, land_all(batch))
            assert_match(message, assert_raises(error) { wire.conclude }.message)
            assert_predicate(wire, :closed?)
          end
        end
      end
    end

    # Whatever has come with the end of an answer: it is not overlooked.
    def test_a_connection_on_which_more_has_come_is_closed
      short, long = ["<0>", "y" * 30_000].map { |text| KINDS[0].call(text) }
      {
        ->(peer) { peer.say(short) && peer.finish } => "<0>",
        ->(peer) { peer.say(long) && peer.finish } => "y" * 30_000,
        ->(peer) { peer.say("#{long}?") } => "y" * 30_000
      }.each do |answer, body|
        there = Queue.new
        RawServer.open(->(peer) { peer.head && answer.call(peer) && (there << true) && peer.stall }) do |server|
          aloft do |batch|
            launch(wire = wire_to(server), batch)
            there.pop
            assert_equal(body, land_all(batch)[wire].body)
            refute_predicate(wire, :reusable?)
            assert_predicate(wire.io, :closed?)
          end
        end
      end
    end

    def test_a_body_that_a_batch_has_begun_can_be_concluded
      go = Queue.new
      script = lambda do |peer|
        peer.head && peer.say("HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n#{"x" * 20_000}")
        go.pop && peer.say("y" * 30_000) && peer.answer(KINDS[0].call("next"))
      end
      RawServer.open(script) do |server|
        aloft do |batch|
          wire, other = Array.new(2) { wire_to(server) }
          launch(wire, batch)
          Plait.timeout(30) { batch.each_landed { flunk } until wire.received? }
          assert_equal([wire], batch.evacuate)
          2.times { go << true }
          assert_equal("#{"x" * 20_000}#{"y" * 30_000}", wire.conclude.body)
          assert_equal("next", wire.get("/", 0, BLOCK, PATIENT, nil).body)
          launch(other, batch)
          assert_equal(50_000, land_all(batch)[other].body.bytesize)
        end
      end
    end

    def test_who_is_closed_by_somebody_else_lands_too
      RawServer.open(:stall.to_proc) do |server|
        aloft do |batch, scope|
          wire = wire_to(server)
          launch(wire, batch)
          scope.async { wire.close }
          assert_equal({ wire => nil }, land_all(batch))
          assert_predicate(wire, :launched?)
          error = assert_raises(Plait::ConnectionClosed) { wire.conclude }
          assert_equal([false, true], [error.retry_safe?, error.message.include?("on this side")])
          assert_empty(wire.io.closed? ? [] : [wire.io])
        end
      end
    end

    def test_who_is_evacuated_can_be_closed_or_concluded
      RawServer.open(ORIGIN) do |server|
        aloft do |batch|
          wires = Array.new(4) { wire_to(server) }
          wires.each { |wire| launch(wire, batch, path: "/6") }
          assert_equal(wires.map(&:object_id).sort, batch.evacuate.map(&:object_id).sort)
          assert_empty(batch)
          wires.first(2).each(&:close)
          assert(wires.first(2).all? { |wire| wire.io.closed? })
          assert_equal(%w[<6> <6>], wires.last(2).map { |wire| wire.conclude.body })
          assert(launch(wires.last, batch, path: "/0"))
          assert_equal("<0>", land_all(batch)[wires.last].body)
        end
      end
    end

    # The request goes where there is no room for it: the rest is sent by whoever concludes.
    def test_what_could_not_be_sent_at_once
      ours, theirs = UNIXSocket.pair
      wire = HTTP.const_get(:NativeWire).new(ours)
      junk = ours.write_nonblock("x" * 1_000_000)
      aloft do |batch, scope|
        refute(launch(wire, batch, path: "/#{"y" * 10_000}"))
        assert_equal([true, true], [wire.launched?, batch.empty?])
        peer = RawServer::Peer.new(theirs)
        head = scope.async { peer.read(junk) && peer.head.tap { peer.say(KINDS[0].call("hi")) } }
        assert_equal("hi", wire.conclude.body)
        assert_equal("GET /#{"y" * 10_000} HTTP/1.1\r\n#{BLOCK}\r\n", head.value)
      end
    ensure
      [ours, theirs].each(&:close)
    end

    # Bytes that nobody asked for, or its end, between two requests: the next answer could be to another question.
    def test_a_connection_on_which_something_has_come_is_not_used_again
      [->(peer) { peer.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil") }, :finish.to_proc].each do |surprise|
        go = Queue.new
        done = Queue.new
        script = lambda do |peer|
          peer.head && peer.say(KINDS[0].call("hi")) && go.pop
          surprise.call(peer) && (done << true) && peer.stall
        end
        RawServer.open(script) do |server|
          aloft do |batch|
            wire, other = [server, server].map { |each| wire_to(each) }
            launch(wire, batch)
            assert_equal("hi", land_all(batch)[wire].body)
            go << true
            done.pop
            stir(batch, other, go)
            refute(wire.relaunch("http://origin/2", batch, wire))
            assert_predicate(wire, :closed?)
          end
        end
      end
    end

    # Has the batch look at what has come.
    def stir(batch, other, go)
      launch(other, batch)
      land_all(batch)
    ensure
      go << true
    end

    # A number that is free again is given to the next connection, whose answer is another one.
    def test_descriptors_that_are_used_again
      RawServer.open(ORIGIN) do |server|
        aloft do |batch|
          numbers = Array.new(20) do |round|
            gone = wire_to(server)
            launch(gone, batch, path: "/#{round * 6}")
            batch.evacuate.each(&:close)
            wire = wire_to(server)
            launch(wire, batch, path: "/#{(round * 6) + 600}", passenger: round)
            assert_equal("<#{(round * 6) + 600}>", land_all(batch)[round].body)
            wire.io.fileno.tap { wire.close }
          end
          assert_operator(numbers.uniq.size, :<, 20)
        end
      end
    end

    def test_under_gc_stress_and_compaction
      RawServer.open(ORIGIN) do |server|
        aloft do |batch|
          wires = [0, 3, 5, 11, 17].to_h { |number| [number, wire_to(server)] }
          GC.compact if GC.respond_to?(:compact)
          GC.stress = true
          wires.each { |number, wire| launch(wire, batch, path: "/#{number}", passenger: number) }
          bodies = land_all(batch).to_h { |number, response| [number, (response || wires[number].conclude).body] }
          GC.stress = false
          assert_equal(texts(wires.keys), bodies.sort.to_h)
        ensure
          GC.stress = false
        end
      end
    end

    # Neither ends anything: batch, wires, deadlines and scheduler go in any order.
    def test_those_who_go_with_their_scheduler
      RawServer.open(:stall.to_proc) do |server|
        5.times { forget(server) }
        3.times { GC.start }
        aloft { |batch| assert_empty(batch) }
      end
    end

    def forget(server)
      Thread.new do
        Fiber.set_scheduler(scheduler = Plait::Scheduler.new)
        Fiber.schedule do
          batch = HTTP.const_get(:NativeBatch).new
          20.times { launch(wire_to(server), batch, timeouts: HTTP::Timeouts.new(first_byte: 60)) }
          batch.each_landed { nil }
        end
        scheduler.abandon
      end.join
    end

    FORK = <<~RUBY
      require "plait"
      require "socket"
      ours, theirs = UNIXSocket.pair
      wire = Plait::HTTP.const_get(:NativeWire).new(ours)
      Plait.run(on: :fibers) do
        batch = Plait::HTTP.const_get(:NativeBatch).new
        wire.launch("http://o/", "http://o", "", nil, nil, batch, wire)
        child = fork do
          wire.conclude
        rescue Plait::UsageError
          wire.close
          exit!(3)
        end
        _, status = Process.wait2(child)
        theirs.write("HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi")
        batch.each_landed { |_, response| print status.exitstatus, response.body } until batch.empty?
      end
    RUBY

    def test_in_the_child_of_a_fork
      result = Support::FreshRuby.run(FORK)
      assert_equal("3hi", result.out, result.err)
    end
  end
end
