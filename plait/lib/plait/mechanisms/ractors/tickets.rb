# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # Who may begin the jobs that wait at a ractor. A message can't be taken back out of its mailbox, so a ticket for each
      # lies in a pipe: whoever takes it first, the ractor to begin the job or the pool to give it to another, has the job.
      class Tickets
        FORMAT = "L"
        SIZE = 4

        def initialize
          @reader, @writer = IO.pipe(binmode: true)
          @last = 0
        end

        # @return [IO] for {Far}; Ractor.new makes a copy of it
        def address = @reader

        # @return [Integer] for the next job
        def issue
          @last += 1
          @writer.write_nonblock([@last].pack(FORMAT))
          @last
        end

        # @return [Integer, nil] the oldest that has not been taken
        def take = Tickets.take(@reader)

        def close = [@reader, @writer].each(&:close)

        # Each read takes a whole one: what the pipe holds is a multiple of it.
        def self.take(pipe)
          bytes = pipe.read_nonblock(SIZE, exception: false)
          bytes.unpack1(FORMAT) if bytes.is_a?(String)
        end

        # In the ractor.
        class Far
          # @param pipe [IO]
          def initialize(pipe)
            @pipe = pipe
            @held = 0
          end

          # @param number [Integer] of a job; they come in order
          # @return [Boolean] whether it may be begun
          def valid?(number)
            while @held < number
              ticket = Tickets.take(@pipe) or return false
              @held = ticket
            end
            @held == number
          end

          def close = @pipe.close
        end
      end
    end
  end
end
