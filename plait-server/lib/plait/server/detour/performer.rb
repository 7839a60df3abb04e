# frozen_string_literal: true

require_relative "envelope"
require_relative "frame"
require_relative "../stray"
require "plait/mechanisms/processes/file_buffers"
require "plait/mechanisms/state"

module Plait
  class Server
    class Detour
      # A process that runs requests for another one, one after the other, until that one is done with it.
      class Performer
        # @param app [#call]
        # @param socket [UNIXSocket]
        # @param boot [#call, nil] called first
        def initialize(app, socket, boot)
          @app = app
          @socket = socket
          @boot = boot
        end

        # Does not return: nothing of the parent's is run at the end.
        # @return [void]
        def live
          @process = Process.pid
          Process.setproctitle("plait: requests on(:processes)")
          @boot&.call
          while (text = Frame.read(@socket))
            perform(text)
            Mechanisms::State.clear
          end
        rescue SystemCallError, IOError
          nil # nobody wants to know any more
        ensure
          Mechanisms::Processes::FileBuffers.write_out
          Process.exit!(0)
        end

        private

        def perform(text)
          env = Envelope.unseal(text)
          response = call_app(env)
          reply(Envelope.answer(response))
        rescue SystemCallError, IOError => e
          @replying ? raise : fail(e)
        rescue StandardError, ScriptError, SystemStackError, NoMemoryError => e
          fail(e)
        ensure
          @replying = false
          finish(env, response, e) if env
        end

        def call_app(env)
          @app.call(env)
        ensure
          Stray.end unless @process == Process.pid
        end

        def reply(text)
          @replying = true
          Frame.write(@socket, text)
        end

        def fail(error) = reply(Envelope.failure(error))

        # What wants to know that the request is over.
        def finish(env, response, error)
          status, headers, = response
          env["rack.response_finished"].reverse_each { |callable| callable.call(env, status, headers, error) }
        rescue StandardError => e
          env["rack.errors"].puts(e.full_message(highlight: false))
        end
      end
    end
  end
end
