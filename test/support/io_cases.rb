# frozen_string_literal: true

require "socket"
require "plait/io"

# What the tests of the room share: the same case on threads, in Plait's fibers and in Async's, and peers that misbehave.
module IoCases
  # How the block of a case runs, and how it gets something to run beside it.
  module OnThreads
    module_function

    def call(&block) = Thread.new { block.call }.tap { |thread| thread.report_on_exception = false }.value

    # @return [#call] waits for the end => the block's value
    def beside(&block)
      thread = Thread.new { block.call }
      thread.report_on_exception = false
      -> { thread.value }
    end
  end

  # In fibers, of whichever scheduler there is.
  module InFibers
    module_function

    def beside(&block)
      outcome = Queue.new
      Fiber.schedule { outcome << capture(&block) }
      lambda do
        value, error = outcome.pop
        error ? raise(error) : value
      end
    end

    def capture
      [yield, nil]
    rescue Exception => e
      [nil, e]
    end

    # Assertions that fail must come out of any scheduler as they are.
    def unwrap
      value, error = yield
      error ? raise(error) : value
    end
  end

  # Plait::Scheduler
  module OnFibers
    module_function

    def call(&block) = InFibers.unwrap { Plait.run(on: :fibers) { |scope| scope.async { InFibers.capture(&block) }.value } }

    def beside(&block) = InFibers.beside(&block)
  end

  # The scheduler of the async gem.
  module OnAsync
    module_function

    # On Ruby 3.1 Async needs IO#timeout, which Plait's mends bring.
    def call(&block)
      require "async"
      patch if RUBY_VERSION < "3.2"
      InFibers.unwrap { Async { InFibers.capture(&block) }.wait }
    end

    def beside(&block) = InFibers.beside(&block)

    def patch
      require "plait/mechanisms/patches"
      Plait.const_get(:Patches).install
    end
  end

  # Gives the addresses it is told, and asks nobody.
  class FixedResolver
    # @param addresses [Array<String, Array(String, Integer)>] with a port of their own
    def initialize(*addresses)
      @addresses = addresses
    end

    def resolve(_host, port, **)
      @addresses.map { |address, other_port| Addrinfo.tcp(address, other_port || port) }
    end
  end

  MECHANISMS =
    if RUBY_ENGINE == "ruby" then { threads: OnThreads, fibers: OnFibers, async: OnAsync }.freeze
    else { threads: OnThreads }.freeze
    end

  def self.included(test_class) = test_class.extend(ClassMethods)

  # `everywhere("reads a message") { … }` is a test for each mechanism; the block's argument runs things beside it.
  module ClassMethods
    def everywhere(name, on: MECHANISMS.keys, &body)
      (on & MECHANISMS.keys).each do |mechanism|
        define_method("test_#{name.tr(" ", "_")}_on_#{mechanism}") do
          skip("the gem async is not installed: bin/setup test drivers") if mechanism == :async && !IoCases.async?
          MECHANISMS[mechanism].call { instance_exec(MECHANISMS[mechanism], &body) }
        end
      end
    end
  end

  def self.async? = Gem::Specification.find_all_by_name("async").any?

  module_function

  # @return [Array(Io::Stream, Socket)] two ends of one TCP connection
  def stream_and_peer
    server = TCPServer.new("127.0.0.1", 0)
    socket = Socket.tcp("127.0.0.1", server.addr[1])
    peer = server.accept
    socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    [Plait.const_get(:Io)::Stream.new(socket, endpoint: Plait.const_get(:Io)::Endpoint.tcp("127.0.0.1", server.addr[1])), peer]
  ensure
    server&.close
  end

  # @return [Io::Stream] over a new connection
  def stream_to(endpoint, connector = Plait.const_get(:Io)::Connector.new, **how)
    Plait.const_get(:Io)::Stream.new(connector.connect(endpoint, **how), endpoint: endpoint)
  end

  # Gives both, and closes both.
  def with_stream
    stream, peer = stream_and_peer
    yield(stream, peer)
  ensure
    stream&.close
    peer&.close
  end

  # Answers each connection by the block, on a thread each, until the caller's block ends.
  # @yieldparam port [Integer]
  def serving(handler, server = TCPServer.new("127.0.0.1", 0))
    threads = []
    threads << Thread.new { accept_each(server, handler, threads) }
    yield(server.addr[1])
  ensure
    threads.first&.kill&.join # before the close: on Ruby 3.3 a close in a fiber of Async would wait for its `accept`
    server.close
    threads.each { |thread| thread.kill.join }
  end

  def accept_each(server, handler, threads)
    loop do
      socket = server.accept
      threads << Thread.new(socket) { |s| answer(s, handler) }
    end
  rescue IOError, SystemCallError
    nil # closed
  end

  def answer(socket, handler)
    Thread.current.report_on_exception = false
    handler.call(socket)
  rescue IOError, SystemCallError
    nil
  ensure
    socket.close
  end

  def within(seconds) = Plait::Deadline.after(seconds)

  # Seconds the block takes.
  def stopwatch
    start = Plait::Deadline.now
    yield
    Plait::Deadline.now - start
  end
end
