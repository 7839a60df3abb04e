# frozen_string_literal: true

require_relative "control"
require_relative "../shift"
require "plait/io/bell"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module RPC
    class Server
      class Prefork
        # What a worker does from its first to its last moment: a {Shift}, and a word with its master.
        class Assignment
          # @param socket [UNIXSocket] to the master
          def initialize(socket)
            @bell = Io::Bell.new
            @control = Control.new(socket) { |method, arguments| hear(method, arguments) }
          end

          # @param options [Options]
          # @yieldparam scope [Scope]
          # @yieldparam bell [Io::Bell]
          # @yieldreturn [Shift]
          # @return [void]
          def run(options)
            Plait.run(on: options.inner, on_error: :collect) do |scope|
              scope.async { @control.run }
              @shift = yield scope, @bell
              @control.tell("ready", Process.pid)
              @shift.run
            end
          ensure
            @shift&.close
            @bell.close
            @control.tell("over", told)
            @control.close
          end

          # @return [Hash{Symbol => Integer}] of all workers: a peer's view, who does not know which one it speaks to
          def statistics = @control.ask("total").transform_keys(&:to_sym)

          # All of them shall end: what a {Io::Bell} is elsewhere.
          # @param deadline [Deadline]
          # @return [void]
          def ring(deadline) = @control.tell("stop", deadline.remaining)

          private

          def hear(method, arguments)
            case method
            when "statistics" then told
            when "stop" then @bell.ring(Deadline.after(arguments.first)) && nil
            end
          end

          def told = @shift ? @shift.statistics.transform_keys(&:name) : {}
        end
      end
    end
  end
end
