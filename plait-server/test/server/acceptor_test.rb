# frozen_string_literal: true

require "openssl"
require "test_helper"
require "plait/io/listener"
require "plait/io/tls"
require "plait/server"
require "support/certificates"
require_relative "caller"

class ServerAcceptorTest < Minitest::Test
  Io = Plait.const_get(:Io)
  # Is told of each connection.
  Core = Struct.new(:sockets) do
    def bring_secure(socket, *) = sockets.push(socket)
    def statistics = { connections: 0 }
    def hold(_count) = nil
    def room?(_count) = true
  end

  # On a machine that is busy it is the server which takes its time: whoever waits for it has done all that he can.
  def test_who_waits_for_us_keeps_nobody_out
    acceptor, endpoint = enter(connections: 1)
    client = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", endpoint.port))
    client.connect_nonblock(exception: false) # has said hello
    jobs = Queue.new
    server = Thread.new { acceptor.run { |job| jobs << job } }
    shake_hands = jobs.pop
    sleep(Plait::Server.const_get(:Acceptor)::PATIENCE * 1.5)
    worker = Thread.new(&shake_hands)
    assert_equal("TLSv1.3", client.connect.ssl_version)
  ensure
    client.io.close
    worker&.join
    acceptor.close
    server.join
  end

  # When there are no descriptors left those that are not needed must not wait for the collector.
  def test_a_connection_that_the_core_does_not_take
    core = Core.new
    def core.bring_secure(*) = raise(Errno::EMFILE)
    acceptor, endpoint = enter(core)
    server = Thread.new { acceptor.run { |job| Thread.new(&job) } }
    GC.disable
    before = descriptors
    5.times do
      socket = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", endpoint.port)).tap(&:connect)
      assert_raises(OpenSSL::SSL::SSLError, EOFError, Errno::ECONNRESET) { Caller.new(socket).raw }
      socket.io.close
    end
    wait_until { descriptors <= before + 2 } # a pipe to wake it by
  ensure
    GC.enable
    acceptor.close
    server.join
  end

  def test_a_connection_that_the_core_takes_as_an_interrupt_comes
    core = Core.new(Thread::Queue.new)
    def core.bring_secure(socket, *)
      sockets.push(socket)
      Thread.current.raise(Plait::Error, "late")
      self
    end
    acceptor, endpoint = enter(core)
    server = Thread.new { acceptor.run { |job| job.call && (@over = true) } }
    client = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", endpoint.port)).tap(&:connect)
    secure = core.sockets.pop
    acceptor.close
    server.join
    refute_predicate(secure.to_io, :closed?)
  ensure
    [client, secure].compact.each { |one| one.to_io.close }
  end

  # What its end has called off does not hear of it where it is, and has something begun: that is not begun any more.
  %i[threads fibers].each do |mechanism|
    define_method("test_who_is_let_in_while_the_server_on_#{mechanism}_ends") do
      server = Plait::Server.new(->(_) { [200, {}, []] }, on: mechanism)
      endpoint = server.listen("ssl://127.0.0.1:0", tls: Certificates::Authority.new.issue("IP:127.0.0.1").to_h)
      shaken = Thread::Queue.new
      hold_up(server) { shaken << true }
      thread = server.start
      client = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", endpoint.port)).tap(&:connect)
      shaken.pop
      before = listeners_at(endpoint.port)
      server.stop(within: 0)
      wait_until { !before.intersect?(listeners_at(endpoint.port)) }
      client.io.close
      assert(thread.join(20), "it has not ended")
    end

    define_method("test_a_connection_in_the_middle_of_its_handshake_is_answered_by_a_worker_on_#{mechanism}_that_is_replaced") do
      server = Plait::Server.new(->(_) { [200, {}, ["late"]] }, on: mechanism)
      endpoint = server.listen("ssl://127.0.0.1:0", tls: Certificates::Authority.new.issue("IP:127.0.0.1").to_h)
      thread = server.start
      client = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", endpoint.port))
      shift = wait_until { server.instance_variable_get(:@shift) }
      wait_until { shift.instance_variable_get(:@acceptors).first.arriving? }
      before = listeners_at(endpoint.port)
      retirement = Thread.new { shift.retire(60, 5) }
      wait_until { !before.intersect?(listeners_at(endpoint.port)) }
      assert_equal("late", Caller.new(client.tap(&:connect)).get.body)
      client.io.close
      [retirement, thread].each { |one| assert(one.join(60), "it has not ended") }
    end
  end

  private

  # Handshakes that wait until they are called off, and go on.
  def hold_up(server, &shaken)
    server.instance_variable_get(:@listeners).first.tls.define_singleton_method(:handshake) do |*arguments, **options|
      super(*arguments, **options).tap do
        shaken.call
        sleep
      rescue Exception # what calls it off is none that anybody should rescue
        nil
      end
    end
  end

  def descriptors = Dir.children("/proc/self/fd").size

  def enter(core = Core.new([]), **options)
    tls = Io::TLS::Server.new(**Certificates::Authority.new.issue("IP:127.0.0.1").to_h)
    listener = Io::Listener.open(Io::Endpoint.parse("ssl://127.0.0.1:0"), tls: tls)
    options = Plait::Server.const_get(:Options).build(options)
    [Plait::Server.const_get(:Acceptor)::TLS.new(listener, core, [0, 1], options), listener.endpoint]
  end
end
