# frozen_string_literal: true

require "plait/rpc"
require_relative "streaming_cases/endings"
require_relative "streaming_cases/flow"
require_relative "streaming_cases/service"
require_relative "talker"
require_relative "toy_server"

# Arguments and results in chunks, on every mechanism of the server; who includes it says `mechanism`.
module StreamingCases
  include Endings
  include Flow

  RPC = Plait::RPC
  CHUNK = 64 * 1024
  # What may have been written before anything of it was read: the window, and a chunk that goes beyond.
  ROOM = (RPC::Streaming::WINDOW / CHUNK) + 1

  def teardown
    @server&.stop(within: 0)
    @thread&.join
    super
  end

  private

  def serve(**options)
    @service = Service.new
    @errors = Thread::Queue.new
    @server = RPC::Server.new(@service, methods: METHODS, on: mechanism, on_error: ->(error, _) { @errors << error }, **options)
    @endpoint = @server.listen("127.0.0.1", 0)
    @thread = @server.start
  end

  def with_client(**options, &block)
    serve(**options)
    RPC::Client.open(@endpoint, timeout: 20, &block)
  end

  def source(count, &block)
    Enumerator.new do |out|
      count.times do |number|
        block&.call(number)
        out << ("x" * CHUNK)
      end
    end
  end

  # What is over is forgotten, on either side.
  def assert_no_streams
    service = @server.handler.instance_variable_get(:@streams)
    wait_until { service.instance_variable_get(:@runs).empty? }
    wait_until { Thread.list.none? { |thread| thread.name.to_s.include?("in chunks") } }
  end

  def asked(talker, answer, method, *arguments)
    talker.request(8, method, *arguments)
    assert_equal([1, 8, nil, answer], talker.hear)
  end

  def refused(talker, message, method, *arguments)
    talker.request(9, method, *arguments)
    type, id, error, result = talker.hear
    assert_equal([1, 9, nil], [type, id, result])
    assert_includes(error, message)
  end
end
