# frozen_string_literal: true

require "json"
require "rbconfig"
require_relative "proxy/nodes"
require "support/root"
require "support/server"

# Several proxies, each a process with a file of its own, before the same nodes.
module ShardProxies
  # One of them. Its lease is short, so that tests need not wait for long.
  class Process < Support::Server
    LEASE = <<~RUBY.freeze
      require #{File.expand_path("patience", __dir__).dump}
      { PERIOD: 0.2, LASTS: 1.5 }.each do |name, seconds|
        Plait::Shard.const_get(:Lease).send(:remove_const, name)
        Plait::Shard.const_get(:Lease).const_set(name, seconds)
      end
    RUBY

    # @param nodes [Array<String>]
    # @param prelude [String] Ruby that is run in it
    def initialize(nodes, prelude: "")
      super()
      @nodes = nodes
      @prelude = prelude
    end

    def configure(nodes, **options)
      File.write("#{file}.new", JSON.generate(options.merge(nodes: nodes)))
      File.rename("#{file}.new", file)
    end

    def hurt(prelude) = File.write(File.join(folder, "prelude.rb"), LEASE + prelude)

    private

    def file = File.join(folder, "shard.yml")

    def prepare
      configure(@nodes)
      hurt(@prelude)
    end

    def command
      [RbConfig.ruby, *Support::FLAGS, "-r", File.join(folder, "prelude.rb"), "#{Support::ROOT}/plait/exe/plait", "shard",
       "--config", file, "--listen", "127.0.0.1:#{port}", "--reshard", "--resume", "--drain", "1"]
    end

    def ready?
      Socket.tcp(host, port, connect_timeout: 1) { |socket| socket.write("PING\r\n") && socket.gets == "+PONG\r\n" }
    rescue SystemCallError
      false
    end
  end

  # Writes keys with a number that grows, through any proxy, and reads those of all writers: no value may be older than what was
  # acknowledged when the reading began. A key whose write has an unknown end is not written again.
  class Writer
    KEYS = 30
    PATIENCE = 2

    attr_reader :acknowledged, :lies, :reads

    def initialize(number, ports, random, all)
      @number = number
      @ports = ports
      @random = random
      @all = all
      @acknowledged = {}
      @keys = []
      @serial = @count = @reads = 0
      @lies = []
      @thread = Thread.new { run }
    end

    def stop
      @ended = true
      @thread.join
    end

    private

    def run
      until @ended
        begin
          Socket.tcp("127.0.0.1", @ports.sample(random: @random), connect_timeout: 1) { |socket| converse(socket) }
        rescue SystemCallError
          sleep(0.01)
        end
      end
    end

    def converse(socket)
      50.times { break if @ended || !(@random.rand < 0.5 ? write(socket) : read(socket)) }
    end

    def write(socket)
      @keys << "w#{@number}:#{@serial += 1}" while @keys.size < KEYS
      key = @keys.sample(random: @random)
      reply = ask(socket, "SET", key, (@count += 1).to_s)
      @acknowledged[key] = @count if reply == "+OK"
      @keys.delete(key) unless reply == "+OK" || reply&.include?("nothing was done")
      reply
    end

    def read(socket)
      key, least = @all.sample(random: @random).acknowledged.to_a.sample(random: @random)
      return true unless key

      reply = ask(socket, "GET", key)
      return reply if reply.nil? || reply.start_with?("-")

      @reads += 1
      @lies << "#{key}: #{reply.inspect} < #{least}, port #{socket.remote_address.ip_port}" if reply.to_i < least
      reply
    end

    # @return [String, nil] an error, a word or the value; nil: there is none
    def ask(socket, *words)
      socket.write(Support::RedisConversation.encode(*words))
      head = line(socket) or return
      return head unless head.start_with?("$")

      head == "$-1" ? "nothing" : line(socket)
    rescue SystemCallError
      nil
    end

    def line(socket)
      (@buffered ||= {}.compare_by_identity).delete_if { |other, _| other.closed? }
      bytes = @buffered[socket] ||= +""
      until (text = bytes.slice!(/\A.*?\r\n/))
        return unless socket.wait_readable(PATIENCE)

        bytes << (socket.read_nonblock(4096, exception: false) || (return nil))
      end
      text.chomp
    end
  end

  def setup
    super
    @proxies = []
    @writers = []
    nodes.each { |server| call(server.port, "FLUSHALL") }
  end

  def teardown
    @writers&.each(&:stop)
    @proxies&.each(&:stop)
    nodes.each { |server| call(server.port, "FLUSHALL") }
    super
  end

  private

  def start_proxy(names, **options) = Process.start(names, **options).tap { |proxy| @proxies << proxy }

  def start_writers(count, random)
    ports = @proxies.map(&:port)
    count.times { |number| @writers << Writer.new(number, ports, Random.new(random.rand(1 << 30)), @writers) }
  end

  # @return [Boolean] whether keys of all places can be read there
  def serves?(proxy)
    Support::RedisConversation.open(proxy.port) do |redis|
      redis.pipeline(Array.new(40) { |i| ["GET", "k#{i}"] }).all? { |reply| reply&.start_with?("$2\r\nv") }
    end
  rescue SystemCallError, Plait::TruncatedError
    false
  end

  # As an operator does: those that are alive are told again, until keys are at these nodes and all serve them.
  def settle(target, random, except: [])
    alive = @proxies - except
    told = 0
    wait_until(timeout: 90) do
      next true if at?(target) && alive.all? { |proxy| serves?(proxy) }

      now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      now - told >= 1 && (told = now) && tell_again(alive, random)
    end
  rescue Minitest::Assertion, Support::RedisConversation::Silent => e
    raise e.class, [e.message, *target, *nodes.map { |server| record(server) }, *reports].join("\n")
  end

  # @return [Array<String>]
  def reports = @proxies.map { |proxy| report(proxy) }

  # @return [String] the state of its process, and what it has said last
  def report(proxy) = "port #{proxy.port}, process #{proxy.pid} (#{state_of(proxy)}):\n#{proxy.log.lines.last(8).join}"

  # @return [String, nil] a letter of proc(5): "T" for a stopped process; nil: there is none
  def state_of(proxy)
    File.read("/proc/#{proxy.pid}/stat")[/\) (.)/, 1]
  rescue SystemCallError
    nil
  end

  # @return [false]
  def tell_again(alive, random)
    alive.each { |proxy| proxy.restart(:KILL) unless proxy.alive? } # told before it could listen to signals
    alive.sample(random: random).signal(:HUP) && false
  end

  def at?(target)
    fingerprint = Plait::Shard::Placement.new(target).fingerprint
    addresses.zip(nodes).all? do |address, server|
      index = target.index(address)
      record(server).fetch("serves", "") == (index ? "#{fingerprint}:#{index}" : "")
    end
  end

  # @return [Hash{String => String}] what a node knows of the placement
  def record(server)
    reply = converse(server.port) { |redis| redis.pipeline([%w[SELECT 1], %w[HGETALL plait:shard]]).last }
    Hash[*Plait.const_get(:Protocols)::RESP.decode(reply)]
  end

  def fill(count)
    converse(@proxies.first.port) { |redis| redis.call("MSET", *Array.new(count) { |i| ["k#{i}", "v#{i % 10}"] }.flatten) }
  end

  # @return [Array<String>] keys that are not there, or with less than was acknowledged, through any proxy
  def lost
    @writers.each(&:stop)
    acknowledged = @writers.map(&:acknowledged).inject({}, :merge)
    @proxies.flat_map do |proxy|
      values = acknowledged.keys.each_slice(50).flat_map { |keys| values_of(proxy, keys) }
      acknowledged.zip(values).filter_map { |(key, count), value| key if value < count }
    end
  end

  # A proxy that was told once more may let its clients go meanwhile.
  def values_of(proxy, keys)
    wait_until(what: -> { reports.join("\n") }) do
      replies = converse(proxy.port) { |redis| redis.pipeline(keys.map { |key| ["GET", key] }) }
      replies.map { |reply| reply[/\A\$\d+\r\n(\d+)/, 1].to_i } if replies.all? { |reply| reply&.start_with?("$") }
    rescue SystemCallError, Plait::TruncatedError
      false
    rescue Support::RedisConversation::Silent => e
      raise e.class, [e.message, *reports].join("\n")
    end
  end
end
