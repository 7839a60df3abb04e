# frozen_string_literal: true

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
          @lifeline_there, @lifeline = IO.pipe
        end

        # @raise [Ractor::Error, TypeError] if the policy can't be copied
        def start(body, policy, port)
          @ractor = quietly do
            ::Ractor.new(@number, body, policy, @lifeline_there, port.address) do |*arguments|
              Resident.new(*arguments).run
            end
          end
          port.attach(@number, @ractor)
        ensure
          @lifeline_there.close
        end

        # @raise [StandardError] if an argument can't be copied
        def give(index, arguments) = @ractor.send([index, arguments])

        # Interrupts what runs and ends the ractor; does not wait. One that is idle ends by itself at the empty job: on
        # Ruby 3.3 an interrupt did not always wake it from Ractor.receive.
        def stop
          return if @lifeline.closed?

          @ractor&.send(nil)
          @lifeline.write_nonblock(".", exception: false) # a forked child may hold this end open, so that closing it says nothing
          @lifeline.close
        rescue Errno::EPIPE, ::Ractor::ClosedError
          @lifeline.close
        end

        # @return [Boolean] whether Ruby has removed the ractor
        def over? = @ractor.nil? || @ractor.inspect.end_with?("terminated>")

        private

        # Ruby warns of the first ractor of a process that the feature is experimental. A user of :ractors has asked for
        # it; what else Ruby calls experimental is still said.
        def quietly
          return yield unless Warning[:experimental]

          begin
            Warning[:experimental] = false
            yield
          ensure
            Warning[:experimental] = true
          end
        end
      end
    end
  end
end
