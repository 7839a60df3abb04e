# frozen_string_literal: true

require "plait/rpc"

# What a request is answered through, without a socket: it keeps the answers.
class FakeConnection
  CODEC = Plait.const_get(:Protocols)::MessagePackRPC::Codec.new

  # @return [Array<Array>] [id, error, result], as a peer would see them
  attr_reader :answers

  def initialize
    @answers = []
  end

  def codec = CODEC

  def respond(id, result, flush: true) = note(id, nil, result, flush)

  def respond_error(id, error, about = nil, flush: true) = note(id, error, about, flush)

  # @return [Plait::RPC::Incoming]
  def request(id, method, *arguments, dispatcher: nil)
    incoming = Plait::RPC::Incoming.new(self, id, method, CODEC.pack(arguments))
    incoming.dispatcher = dispatcher
    incoming
  end

  private

  def note(id, error, result, _flush)
    @answers << [id, *[error, result].map { |value| CODEC.unpack(CODEC.pack(value)) }]
  end
end
