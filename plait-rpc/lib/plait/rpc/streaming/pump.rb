# frozen_string_literal: true

require "plait/values/deadline"
require "plait/values/errors"
require_relative "../error_format"
require_relative "../streaming"

module Plait
  module RPC
    module Streaming
      # The caller's side of an argument: reads what the caller has, and sends it as there is room for it. On a thread of its own,
      # since the caller waits for the answer meanwhile.
      class Pump
        # Weight of the chunks that are sent together, where they come faster than they are taken.
        BATCH = WINDOW

        # @return [Exception, nil] what reading has raised
        attr_reader :error
        # @return [Float] monotonic seconds: when something was taken last
        attr_reader :moved

        # @param connection [Connection]
        # @param id [Integer] of the call
        # @param source [#each]
        def initialize(connection, id, source)
          @connection = connection
          @id = id
          @source = source
          @batch = []
          @weight = 0
          @moved = Deadline.now
          @thread = Thread.new { run }
          @thread.name = "plait: sends an argument in chunks"
        end

        # @return [void]
        def stop = @thread.kill.join

        private

        def run
          @source.each { |chunk| break if send_soon(chunk) == false }
          finish
        rescue ConnectionError, RemoteProtocolError, RemoteError
          nil # the call itself tells
        rescue StandardError => e
          @error = e
          give_up(e)
        end

        # @return [Boolean, nil] false: no more is wanted
        def send_soon(chunk)
          @batch << chunk
          @weight += Streaming.weight(chunk)
          return if @under_way && @weight < BATCH && !@under_way.ready?

          flush(false)
        end

        def flush(last)
          return @unwanted = false if @under_way && !taken?

          @under_way = @connection.call(PUSH, [@id, @batch, last])
          @batch = []
          @weight = 0
          true
        end

        def taken?
          wanted = @under_way.value
          @moved = Deadline.now
          wanted
        end

        def finish = @unwanted.nil? && flush(true) && taken?

        def give_up(error)
          taken? if @batch.empty? ? @under_way : flush(false)
          @connection.request(ABORT, [@id, ErrorFormat.sentence(error)])
        rescue Plait::Error
          nil # the call itself tells
        end
      end
    end
  end
end
