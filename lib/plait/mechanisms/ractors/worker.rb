# frozen_string_literal: true

require_relative "quiet"
require_relative "resident"
require_relative "../mechanism"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # One ractor of a pool, seen from the main one.
      class Worker
        # @return [Integer] from 0
        attr_reader :number
        # @return [Array(Integer, Object), nil] index and item of what it works on
        attr_accessor :job

        def initialize(number)
          @number = number
          @far_lifeline, @lifeline = IO.pipe
        end

        # @raise [Ractor::Error, TypeError] if the policy can't be copied
        def start(body, policy, port)
          @ractor = Quiet.start do
            ::Ractor.new(@number, body, policy, @far_lifeline, port.address) { |*all| Resident.new(*all).run }
          end
          port.attach(@number, @ractor)
        ensure
          @far_lifeline.close # Ractor.new has made a copy of it
        end

        # @raise [StandardError] if an argument can't be copied
        def give(index, arguments) = @ractor.send([index, arguments])

        # Ends the ractor, and what runs in it; does not wait. An idle one ends by the empty job.
        def stop
          return if @lifeline.closed?

          @ractor&.send(nil)
          @lifeline.write_nonblock(".") # closing may say nothing: a forked child has this end too
        rescue Errno::EPIPE, ::Ractor::ClosedError
          nil
        ensure
          @lifeline.close
        end

        # @return [Boolean] whether Ruby has removed the ractor
        def over? = @ractor.nil? || @ractor.inspect.end_with?("terminated>")
      end
    end
  end
end
