# frozen_string_literal: true

require_relative "../shard/proxy/nodes"

# Many clients while nodes are killed, restarted and put to sleep: every command has one reply, its own or an error of its node,
# in order. PLAIT_FAULT_SECONDS=600 PLAIT_FAULT_CLIENTS=2000 goes on for longer, with more of them, and tells what it has counted;
# PLAIT_SEED comes to the same commands again.
class ShardFaultsTest < Minitest::Test
  include ShardNodes

  SECONDS = Integer(ENV.fetch("PLAIT_FAULT_SECONDS", "8"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "80"))
  THREADS = 8
  CLIENTS = Integer(ENV.fetch("PLAIT_FAULT_CLIENTS", "160")) / THREADS

  # One connection with keys of its own, so that the order of its commands is that of its replies. Values tell their key and a
  # serial number.
  class Client
    KEYS = 5

    attr_reader :right, :refused, :wrong

    # @param safe [#call] whether the node of a key keeps what it has
    def initialize(port, name, random, safe)
      @conversation = Support::RedisConversation.new(port, "127.0.0.1")
      @name = name
      @random = random
      @safe = safe
      @serial = @right = @refused = 0
      @kept = {} # by key: the serial of the last value whose SET was acknowledged
      @wrong = []
    end

    # A pipeline, each command followed by one whose reply tells its place.
    def send_all
      @sent = Array.new(1 + @random.rand(10)) { [command, ["ECHO", "#{@name}##{@serial += 1}"]] }.flatten(1)
      @conversation.write(@sent.map { |words| Support::RedisConversation.encode(*words) }.join)
    end

    def check_all = @sent.each { |words| check(words, @conversation.reply) }

    def close = @conversation.close

    private

    def key = "#{@name}:#{@random.rand(KEYS)}"

    def command
      name = key
      [["SET", name, "#{name}=#{@serial += 1} #{"v" * @random.rand(3000)}"], ["GET", name], ["MGET", *Array.new(4) { key }],
       ["DEL", name, key]].sample(random: @random)
    end

    def check(words, reply)
      refused = refused?(words, reply)
      value = reply && !refused ? Plait.const_get(:Protocols)::RESP.decode(reply) : nil
      count(words, reply, refused, reply && fits?(words, value))
      remember(words, value)
    end

    def refused?(words, reply) = words[0] != "ECHO" && reply&.start_with?("-ERR node ")

    def count(words, reply, refused, fits)
      if refused then @refused += 1
      elsif fits then @right += 1
      else @wrong << [words.map { |word| word[0, 20] }, reply && reply[0, 80]]
      end
    end

    def remember(words, value)
      @kept[words[1]] = words[2][/=(\d+)/, 1].to_i if words[0] == "SET" && value == "OK"
      words.drop(1).each { |name| @kept.delete(name) } if words[0] == "DEL"
    end

    def fits?(words, value)
      names = words.drop(1)
      case words[0]
      when "SET" then value == "OK"
      when "ECHO" then value == words[1]
      when "DEL" then value.is_a?(Integer) && value.between?(0, names.size)
      when "GET" then value_of?(words[1], value)
      else value.is_a?(Array) && value.size == names.size && names.zip(value).all? { |name, text| value_of?(name, text) }
      end
    end

    # Its own, and none that is older than one that was acknowledged.
    def value_of?(name, text)
      least = @safe.call(name) ? @kept[name] : nil
      return least.nil? if text.nil?

      text.start_with?("#{name}=") && text[/=(\d+)/, 1].to_i >= least.to_i
    end
  end

  # What one thread does with its clients, and counts.
  class Checker
    def initialize(port, number, safe)
      random = Random.new(SEED + number)
      @clients = Array.new(CLIENTS) { |i| Client.new(port, "#{number}.#{i}", random, safe) }
    end

    # Each client sends a pipeline, then each reads its replies.
    def round
      @clients.each(&:send_all)
      @clients.each(&:check_all)
    end

    def right = @clients.sum(&:right)

    def refused = @clients.sum(&:refused)

    def wrong = @clients.flat_map(&:wrong)

    def close = @clients.each(&:close)
  end

  def hard_timeout = SECONDS + 180

  def test_no_reply_is_lost_or_somebody_elses
    servers = Array.new(3) { Support::RedisServer.start }
    with_proxy(servers, threads: 2, timeout: 0.3, retry: 0.02) do |proxy|
      safe = ->(key) { proxy.placement.node_for(key).zero? }
      checkers = Array.new(THREADS) { |number| Checker.new(proxy.port, number, safe) }
      ends = now + SECONDS
      threads = checkers.map do |checker|
        Thread.new { checker.round while now < ends || (now < ends + 60 && !enough?(checkers)) }
      end
      disturb(servers, ends)
      threads.each(&:join)
      judge(checkers)
      checkers.each(&:close)
    end
  ensure
    servers&.each(&:stop)
  end

  private

  def enough?(checkers) = checkers.sum(&:right) > 1000

  def judge(checkers)
    tell(checkers) if ENV.key?("PLAIT_FAULT_SECONDS")
    assert_empty(checkers.flat_map(&:wrong).first(5))
    assert(enough?(checkers), "few replies were right")
    assert_operator(checkers.sum(&:refused), :>, 0, "no fault was noticed")
  end

  def tell(checkers)
    warn("#{CLIENTS * THREADS} clients, #{SECONDS} s: #{checkers.sum(&:right)} replies were right, #{checkers.sum(&:refused)} " \
         "errors of a node, #{checkers.sum { |one| one.wrong.size }} lost or crossed")
  end

  # The first one forgets nothing.
  def disturb(servers, ends)
    random = Random.new(SEED)
    while now < ends
      server = servers.sample(random: random)
      server != servers.first && random.rand(2).zero? ? server.restart(:KILL) : put_to_sleep(server)
    end
  end

  def put_to_sleep(server)
    server.signal(:STOP)
    sleep(0.6) # longer than a node may be silent
  ensure
    server.signal(:CONT)
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
