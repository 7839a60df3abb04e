# frozen_string_literal: true

require "msgpack"
require "socket"
require "plait/rpc"

# Talks to a server and to connections in this process as no peer should, for some seconds: ruby … SECONDS SEED LEAST. Prints how
# many conversations there were: on a slow machine it takes longer, until there are LEAST.
class Conversations
  Protocols = Plait.const_get(:Protocols)
  ERRORS = [Plait::RemoteError, Plait::ConnectionClosed, Plait::RemoteProtocolError, Protocols::MessagePackRPC::UnpackError].freeze
  METHODS = { "add" => ->(a, b) { a + b }, "echo" => ->(*all) { all }, "nothing" => ->(*) {}, "odd" => -> { Object.new } }.freeze
  # Messages of a conversation.
  MOST = 60
  # As the collector and its like come round in the middle of things.
  PRESSURES = { 40 => :stress, 41 => :compact }.freeze

  def initialize(seed)
    @random = Random.new(seed)
    @server = Plait::RPC::Server.new(METHODS)
    @endpoint = @server.listen("127.0.0.1", 0)
    @serving = @server.start
  end

  def run(seconds, least)
    count = 0
    limit = Plait::Deadline.now + seconds
    while Plait::Deadline.now < limit || count < least
      @most = MOST
      press(PRESSURES[(count += 1) % 100])
      %i[pack serve serve answer].sample(random: @random).then { |kind| send(kind) }
      GC.stress = false
    end
    finish
    count
  end

  private

  def press(pressure)
    @most = 2 if pressure == :stress # it takes a while
    GC.stress = true if pressure == :stress
    GC.compact if pressure == :compact && GC.respond_to?(:compact)
  end

  def finish
    Plait::RPC::Client.open(@endpoint) { |client| client.call(:add, 1, 2) == 3 or raise "the server is not well" }
    @server.stop
    @serving.join
  end

  # Small values: as the gem has them, or not at all.
  def pack
    list = value(3).then { |one| one.is_a?(Array) ? one : [one] }
    packed = Protocols::MessagePackRPC::NativeSmall.pack(list) or return
    packed == list.to_msgpack or raise "packed in another way: #{list.inspect}"
  end

  # Requests to a server.
  def serve
    socket = TCPSocket.new(@endpoint.host, @endpoint.port)
    socket.write(spoilt(Array.new(@random.rand(1..@most)) { |id| request(id) }))
    socket.close_write
    nil while socket.read(1 << 16)
  rescue SystemCallError
    nil # it has closed the connection before all was written
  ensure
    socket&.close
  end

  # Answers to many calls.
  def answer
    ours, theirs = UNIXSocket.pair
    connection = Plait::RPC.const_get(:Connection).new(ours)
    lists = Array.new(@random.rand(1..@most)) { [value(2)] }
    batch = connection.batch(:echo, lists)
    call = connection.call(:echo, [1])
    good = talk(theirs, lists, call.id)
    values = told { batch.values }
    raise "crossed answers" if good && values != lists

    told { call.value }
  ensure
    connection.close
    theirs.close
  end

  # @return [Boolean] whether all was as it should be
  def talk(theirs, lists, last)
    answers = [*lists, [1]].zip(0..last).map { |result, id| [1, id, nil, result] }.shuffle(random: @random)
    good = @random.rand(3).zero?
    theirs.write(good ? answers.map(&:to_msgpack).join : spoilt(answers))
    theirs.close_write
    good
  end

  def told
    yield
  rescue *ERRORS => e
    e
  end

  def request(id) = [0, id, (METHODS.keys + ["none"]).sample(random: @random), Array.new(@random.rand(4)) { value(2) }]

  # @return [String] some of its bytes are others, or missing, or too many
  def spoilt(messages)
    bytes = messages.map(&:to_msgpack).join.b
    @random.rand(4).times { spoil(bytes, @random.rand(bytes.bytesize)) unless bytes.empty? }
    bytes
  end

  def spoil(bytes, at)
    case @random.rand(4)
    when 0 then bytes.setbyte(at, @random.rand(256))
    when 1 then bytes.insert(at, @random.bytes(@random.rand(1..8)))
    when 2 then bytes.slice!(at, @random.rand(1..16))
    when 3 then bytes.slice!(at..)
    end
  end

  # @return [Object]
  def value(depth)
    return plain if depth.zero? || @random.rand(3).positive?

    @random.rand(4).zero? ? { "key" => value(depth - 1) } : Array.new(@random.rand(20)) { value(depth - 1) }
  end

  def plain
    case @random.rand(6)
    when 0 then [nil, true, false].sample(random: @random)
    when 1 then @random.rand(-200..200)
    when 2 then [2**@random.rand(64), -(2**@random.rand(63))].sample(random: @random)
    when 3 then @random.rand
    when 4 then @random.bytes(@random.rand(40))
    else "ä" * @random.rand(300)
    end
  end
end

puts Conversations.new(Integer(ARGV.fetch(1))).run(Float(ARGV.fetch(0)), Integer(ARGV.fetch(2))) if $PROGRAM_NAME == __FILE__
