# frozen_string_literal: true

require "test_helper"
require "msgpack"
require "plait/rpc"
require_relative "served_program"
require_relative "talker"

# What a server holds, seen from outside.
class RPCServerMemoryTest < Minitest::Test
  MEGABYTE = 1 << 20

  %w[threads fibers].each do |mechanism|
    # 20 peers ask for 200 MB each, and read nothing of it: what waits for one of them is an outbox, and a few answers that
    # were made at once.
    define_method(:"test_peers_that_never_read_on_#{mechanism}") do
      grown = growth(mechanism, warm_up: 400, outbox: MEGABYTE / 2, write_timeout: 2) do |program|
        requests = [0, 1, "big", [60_000]].to_msgpack * 3_500
        deaf = Array.new(20) do
          connect(program).tap { |talker| talker.socket.write_nonblock(requests, exception: false) }
        end
        deaf.each { |talker| assert_cut(talker) }
        program.memory("VmHWM")
      end
      assert_operator(grown, :<, 80 * MEGABYTE, "#{grown / MEGABYTE} MB")
    end

    # What idle ones cost is their descriptors and a little memory.
    define_method(:"test_idle_connections_on_#{mechanism}") do
      idle = 2_000
      skip("needs `ulimit -n` above #{idle}") if Process.getrlimit(:NOFILE).first < idle + 100
      grown = growth(mechanism) do |program|
        Array.new(idle) { connect(program) }
        connect(program).then { |talker| talker.request(1, "add", 1, 2) && talker.hear } # so all of them are let in
        program.memory
      end
      assert_operator(grown / idle, :<, 4_000)
    end
  end

  def setup = @talkers = []

  def teardown = @talkers.each { |talker| talker.socket.close }

  private

  # @param warm_up [Integer] large answers that it gives before
  # @yield a program that serves
  # @yieldreturn [Integer] bytes that it holds
  # @return [Integer] how many more than before
  def growth(mechanism, warm_up: 1, **options)
    skip("needs /proc") unless File.exist?("/proc/self/status")
    program = ServedProgram.start(on: mechanism, **options)
    warm_up.times { connect(program).then { |talker| talker.request(1, "big", 60_000) && talker.hear } }
    @talkers.shift.socket.close until @talkers.empty?
    base = program.memory
    yield(program) - base
  ensure
    program&.stop
  end

  def connect(program) = Talker.new(TCPSocket.new("127.0.0.1", program.port)).tap { |talker| @talkers << talker }

  def assert_cut(talker)
    wait_until(timeout: 60, what: "its end") do
      talker.socket.write_nonblock("\x94".b, exception: false)
      false
    rescue Errno::EPIPE, Errno::ECONNRESET
      true
    end
  end
end
