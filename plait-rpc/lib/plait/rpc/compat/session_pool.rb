# frozen_string_literal: true

require_relative "address"
require_relative "loop"
require_relative "loop_util"
require_relative "session"
require_relative "tcp_transport"
require_relative "version"

module Plait
  module RPC
    module Compat
      # One {Session} for each address.
      class SessionPool
        include LoopUtil

        # @overload initialize(loop = Loop.new)
        # @overload initialize(builder, loop = Loop.new)
        #   @param builder [TCPTransport, UNIXTransport]
        def initialize(first = nil, second = nil)
          @builder, @loop = first.respond_to?(:build_transport) ? [first, second] : [TCPTransport.new, first]
          @loop ||= Loop.new
          @lock = Mutex.new
          @sessions = {}
        end

        # @overload get_session(host, port)
        # @overload get_session(address)
        # @return [Session]
        def get_session(first, port = nil)
          address = port ? Address.new(first, port) : first
          @lock.synchronize { @sessions[address] ||= Session.new(@builder, address, @loop) }
        end
        alias get_session_addr get_session

        # Closes all of them.
        # @return [nil]
        def close
          sessions = @lock.synchronize { @sessions.values.tap { @sessions.clear } }
          sessions.each(&:close)
          nil
        end
      end
    end
  end
end
