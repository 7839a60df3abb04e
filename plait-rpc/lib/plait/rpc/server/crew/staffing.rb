# frozen_string_literal: true

module Plait
  module RPC
    class Server
      class Crew
        # How many they are, and who is called when somebody is needed.
        module Staffing
          # Workers who never leave: one who works, and one who looks.
          CORE = 2

          # There is work that nobody has seen coming.
          # @return [void]
          def call = help { !@bench.empty? || !@bench.called? }

          # Somebody shall look after a peer.
          # @return [void]
          def attend(peer)
            @lock.exclusively { @board.resumed << peer }
            call
          end

          # Everybody leaves when he is done with what he does.
          # @return [void]
          def dismiss
            @lock.exclusively do
              @over = true
              @bench.call_all
            end
          end

          # Runs the block, which waits for an answer of somebody else: meanwhile another one may work in one's place.
          # @return [Object] the block's value
          def aside
            return yield unless @lock.exclusively { @members.key?(Fiber.current) }

            step_aside(1)
            begin
              yield
            ensure
              step_aside(-1)
            end
          end

          private

          def engage
            @lock.exclusively { @size += 1 }
            @start.call
          rescue ThreadError # there are no more threads to be had: those that are there do the work
            @lock.exclusively { give_up_one }
            raise if @size.zero?
          end

          # It was killed at its work.
          def replace(current)
            @lock.exclusively { retire(current) }
            engage unless @over
          end

          # @yieldreturn [Boolean] under the lock: whether anybody is needed
          def help
            needed = @lock.exclusively { yield && !@over && call_one }
            engage if needed == :another
          end

          # Under the lock. Of those who wait for answers themselves none can be called, and one is always left who leads.
          def call_one
            return true if @bench.call
            return false if @size >= @limit + @aside + 1

            @bench.expect
            :another
          end

          # Under the lock: nobody comes, so that the next one who needs somebody has to call again.
          def give_up_one
            @size -= 1
            @bench.arrived
          end

          def step_aside(one)
            @lock.exclusively do
              lay_down(@stint) if @stint&.runs_here?
              @aside += one
              @running -= one
            end
            help { !@bench.called? && (@stint.nil? || @backlog.size.positive?) } if one.positive?
          end
        end
      end
    end
  end
end
