# frozen_string_literal: true

require_relative "prefork/assignment"
require_relative "prefork/post"
require_relative "prefork/scores"
require_relative "shift"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module RPC
    class Server
      # A server on several processes. The master serves nobody: it has opened the listening sockets, from which its workers
      # accept, starts them, replaces those who die, and ends them. They end with it, however it ends.
      class Prefork
        # Seconds between two looks at who has died.
        LOOK = 0.1
        # Seconds beyond the time to end, after which a worker is killed.
        GRACE = 1
        # Of statistics: what has ever happened, also to workers who are gone.
        EVER = %i[requests notifications refused unknown broken done].freeze

        # @param options [Options]
        # @param handler [Handler]
        # @param listeners [Array<Io::Listener>]
        # @param bell [Io::Bell] rings when all shall end
        # @yieldparam assignment [Assignment] in a worker, before it begins
        def initialize(options, handler, listeners, bell, &at_work)
          @options = options
          @handler = handler
          @listeners = listeners
          @bell = bell
          @at_work = at_work
          @gone = Hash.new(0)
          @scores = Scores.new(options.workers)
          @posts = Array.new(options.workers) { Post.new { |method, arguments| hear(method, arguments) } }
        end

        # @return [void]
        def run
          Plait.run(on: :processes, on_error: :collect) do |scope|
            until @bell.rung?
              staff(scope)
              @bell.wait(LOOK)
            end
            dismiss
            scope.cancel
          end
        ensure
          @posts.each(&:hang_up)
        end

        # @return [void]
        def close = @scores.close

        # @return [Array<Integer>] the workers' processes
        def pids = @posts.filter_map(&:pid)

        # @return [Hash{Symbol => Integer}] of all workers together
        def statistics
          told = @posts.map { |post| post.statistics.transform_keys(&:to_sym) }
          sum = told.reduce(@gone) { |all, one| all.merge(one) { |_, before, more| before + more } }
          { **sum, processes: pids.size, replaced: @posts.sum(&:deaths) }
        end

        private

        # One after the other, see {Post#fill}.
        def staff(scope)
          @posts.each do |post|
            bury(post) if post.lost?
            post.fill(scope) { |socket| work(post, socket) } if post.due? && !@bell.rung?
          end
        end

        def bury(post)
          last = post.statistics.transform_keys(&:to_sym).slice(*EVER)
          @gone = @gone.merge(last) { |_, before, more| before + more }
          post.clear
          @scores.vacate(@posts.index(post))
        end

        # In the worker.
        def work(post, socket)
          (@posts - [post]).each(&:forget)
          @bell.close
          assignment = Assignment.new(socket)
          @at_work.call(assignment)
          @scores.take(@posts.index(post))
          assignment.run(@options) { |scope, bell| Shift.new(scope, @options, @handler, @listeners, bell, scores: @scores) }
        end

        def hear(method, arguments)
          case method
          when "total" then statistics.transform_keys(&:name)
          when "stop" then @bell.ring(Deadline.after(arguments.first)) && nil
          end
        end

        # They have as much time as there is, and a little more for the way.
        def dismiss
          @listeners.each(&:close)
          @posts.each { |post| post.stop(@bell.deadline) }
          give_up = Deadline.new(@bell.deadline.at + GRACE)
          sleep(0.01) until @posts.all? { |post| post.vacant? || post.lost? } || give_up.expired?
        end
      end
    end
  end
end
