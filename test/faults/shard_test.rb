# frozen_string_literal: true

require_relative "../shard/proxy/nodes"

# Many clients while nodes are killed, restarted and put to sleep: every command has one reply, its own or an error of its node,
# in order. PLAIT_FAULT_SECONDS=600 goes on for longer; PLAIT_SEED comes to the same commands again.
class ShardFaultsTest < Minitest::Test
  include ShardNodes

  SECONDS = Integer(ENV.fetch("PLAIT_FAULT_SECONDS", "8"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "80"))
  THREADS = 8
  CLIENTS = 20

  # What one thread does with its clients, and counts.
  class Checker
    attr_reader :right, :refused, :wrong

    def initialize(port, number)
      @random = Random.new(SEED + number)
      @number = number
      @clients = Array.new(CLIENTS) { Support::RedisConversation.new(port, "127.0.0.1") }
      @right = @refused = 0
      @wrong = []
    end

    # Each client sends a pipeline, then each reads its replies.
    def round
      sent = @clients.map { |client| Array.new(1 + @random.rand(10)) { command }.tap { |all| send_all(client, all) } }
      @clients.zip(sent) { |client, commands| commands.each { |words| check(words, client.reply) } }
    end

    def close = @clients.each(&:close)

    private

    def send_all(client, commands) = client.write(commands.map { |words| Support::RedisConversation.encode(*words) }.join)

    def command
      key = "#{@number}:#{@random.rand(50)}"
      others = Array.new(3) { "#{@number}:#{@random.rand(50)}" }
      [["SET", key, "#{key}=#{"v" * @random.rand(3000)}"], ["GET", key], ["MGET", key, *others], ["ECHO", key],
       ["DEL", key, *others]].sample(random: @random)
    end

    def check(words, reply)
      if reply&.start_with?("-ERR node ") then @refused += 1
      elsif reply && fits?(words, Plait::Protocols::RESP::Decoder.decode(reply)) then @right += 1
      else @wrong << [words.map { |word| word[0, 20] }, reply && reply[0, 80]]
      end
    end

    def fits?(words, value)
      case words.first
      when "SET" then value == "OK"
      when "ECHO" then value == words[1]
      when "DEL" then value.is_a?(Integer)
      else words.drop(1).zip(Array(value)).all? { |key, text| text.nil? || text.start_with?("#{key}=") }
      end
    end
  end

  def hard_timeout = SECONDS + 180

  def test_no_reply_is_lost_or_somebody_elses
    servers = Array.new(3) { Support::RedisServer.start }
    with_proxy(servers, threads: 2, timeout: 0.3, retry: 0.02) do |proxy|
      checkers = Array.new(THREADS) { |number| Checker.new(proxy.port, number) }
      ends = now + SECONDS
      threads = checkers.map { |checker| Thread.new { checker.round while now < ends } }
      disturb(servers, ends)
      threads.each(&:join)
      judge(checkers)
      checkers.each(&:close)
    end
  ensure
    servers&.each(&:stop)
  end

  private

  def judge(checkers)
    assert_empty(checkers.flat_map(&:wrong).first(5))
    assert_operator(checkers.sum(&:right), :>, 1000)
    assert_operator(checkers.sum(&:refused), :>, 0, "no fault was noticed")
  end

  def disturb(servers, ends)
    random = Random.new(SEED)
    while now < ends
      server = servers.sample(random: random)
      random.rand(2).zero? ? server.restart(:KILL) : put_to_sleep(server)
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
