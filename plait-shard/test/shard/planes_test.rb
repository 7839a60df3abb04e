# frozen_string_literal: true

require "minitest/mock"
require_relative "proxy/nodes"

# What happens to a data plane while a reshard switches to the next one.
class ShardPlanesTest < Minitest::Test
  include ShardNodes

  # The lease asks for one when it follows the file.
  def test_a_replacement_waits_for_a_switch
    planes, port = switching { |those| those.replace(those.settings, 1) }
    assert_equal("+PONG\r\n", call(port, "PING"))
    planes.stop
    assert_raises(Errno::ECONNREFUSED) { call(port, "PING") }
  end

  def test_a_stop_waits_for_a_switch
    planes, port = switching(&:stop)
    refute_predicate(planes, :running?)
    assert_raises(Errno::ECONNREFUSED) { call(port, "PING") }
  end

  # Two planes on the same sockets would each serve some of the clients.
  def test_a_replacement_that_is_interrupted_leaves_one_plane
    before = running
    planes, port = started
    Plait::Shard.const_get(:NodeSurvey).stub(:new, ->(*) { sleep }) do
      replacing = Thread.new { planes.replace(planes.settings, 1) }
      wait_until { running == before + 2 && replacing.stop? }
      replacing.kill.join
    end
    assert_equal([before + 1, "+PONG\r\n"], [running, call(port, "PING")])
    planes.stop
    assert_equal(before, running)
  end

  # A watch of the topology asks for a plane with more room.
  def test_a_replacement_that_fails_is_tried_again
    notice, announce = IO.pipe
    notice.autoclose = false # the watch closes it; later the number may be of another file
    announce << "!"
    plane = Struct.new(:notice, :notice_taken).new(notice.fileno)
    topology = Struct.new(:partial?).new(false)
    source = Object.new
    numbers = Class.new { def add(_) = false }.new
    source.define_singleton_method(:read) { |*, **| Struct.new(:nodes).new([]) }
    tries = Queue.new
    watch = Plait::Shard.const_get(:TopologyWatch).new(plane, source, numbers, topology) do
      raise(Plait::ConnectError.new("no", endpoint: "tcp://nowhere")) if tries.push(true).size == 1
    end
    wait_until { tries.size == 2 }
  ensure
    watch&.close
    announce.close
  end

  # There is room for the first one alone.
  def test_listeners_for_which_there_are_no_descriptors
    planes, = started(3)
    assert_no_leaks { with_one_descriptor { assert_raises(Errno::EMFILE) { planes.listeners } } }
    planes.stop
  end

  private

  def with_one_descriptor
    soft, hard = Process.getrlimit(:NOFILE)
    files = Array.new(2) { File.open(File::NULL) }
    Process.setrlimit(:NOFILE, files.map(&:fileno).max + 1, hard)
    loop { files << File.open(File::NULL) }
  rescue Errno::EMFILE
    files.pop.close
    yield
  ensure
    Process.setrlimit(:NOFILE, soft, hard)
    files.each(&:close)
  end

  def running = ObjectSpace.each_object(Plait.const_get(:NativeShard)::Plane).count(&:running?)

  # @yieldparam planes [Planes] on a thread of its own, in the middle of a switch
  # @return [(Planes, Integer)] after both, and their port
  def switching(&change)
    planes, port = started
    middle, over = Array.new(2) { Queue.new }
    switch = Thread.new { planes.switch(planes.settings, 1) { (middle << true) && over.pop } }
    middle.pop
    other = Thread.new { change.call(planes) }
    other.report_on_exception = false
    wait_until { other.stop? }
    over << true
    [switch, other].each(&:join)
    [planes, port]
  end

  def started(threads = 1)
    settings = Plait::Shard.const_get(:Settings).new(nodes: addresses)
    sockets = Array.new(threads) { Addrinfo.tcp("127.0.0.1", 0).listen }
    planes = Plait::Shard.const_get(:Planes).new(settings, encrypts: false)
    planes.start(sockets)
    [planes, sockets.first.local_address.ip_port]
  ensure
    sockets&.each(&:close)
  end
end
