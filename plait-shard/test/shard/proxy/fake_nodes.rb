# frozen_string_literal: true

require_relative "nodes"

# Nodes that behave as a test wants them to: each connection to one is a thread with the block.
module FakeNodes
  # The first bytes of a connection of the data plane.
  NAMING = "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n"

  # Answers what such a connection begins with: its name, and whether the node takes its placement.
  # @return [Boolean] false: the control plane asks for records, for which it need not wait
  def self.let_in(socket)
    first = socket.recv(NAMING.bytesize, Socket::MSG_PEEK)
    return !first&.match?(/\A\*\d+\r\n\$4\r\nEVAL/) unless first == NAMING

    2.times { Integer(socket.gets[1..]).times { socket.read(Integer(socket.gets[1..]) + 2) } }
    socket.write("+OK\r\n+OK\r\n")
    true
  end

  # Listens until it is closed; its threads end with it.
  class Node
    attr_reader :port

    # @yieldparam socket [TCPSocket] closed after the block
    def initialize(port = 0, &block)
      @server = TCPServer.new("127.0.0.1", port)
      @port = @server.addr[1]
      @threads = []
      @block = block
      @thread = Thread.new { loop { accept } }
    end

    def close
      [@thread, *@threads].each { |thread| thread.kill.join }
      @server.close
    end

    private

    def accept
      socket = @server.accept
      @threads << Thread.new do
        @block.call(socket) if FakeNodes.let_in(socket)
      rescue IOError, SystemCallError
        nil
      ensure
        socket.close
      end
    rescue Errno::EMFILE # a test has taken all descriptors for a while
      sleep(0.01)
    end
  end

  def teardown
    @fake_nodes&.each(&:close)
    super
  end

  private

  def fake_node(...) = Node.new(...).tap { |node| (@fake_nodes ||= []) << node }

  # Never answers.
  def silent_node = fake_node { |socket| nil while socket.readpartial(1 << 16) }

  # Answers each read with these bytes.
  def answering_node(bytes) = fake_node { |socket| socket.write(bytes) while socket.readpartial(1 << 16) }

  # Answers the first bytes that come with these, and hangs up.
  def odd_node(bytes)
    fake_node do |socket|
      socket.readpartial(1 << 16)
      socket.write(bytes)
    end
  end

  # @yieldparam proxy [Plait::Shard::Proxy]
  # @yieldparam keys [Array<String>] one on each node
  def with_fakes(*fakes, **options)
    Plait::Shard::Proxy.open(nodes: addresses(fakes), listen: "127.0.0.1:0", **options) do |proxy|
      yield(proxy, fakes.each_index.map { |node| key_on(proxy, node) })
    end
  end
end
