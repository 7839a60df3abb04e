# frozen_string_literal: true

require "stringio"
require_relative "whole"
require_relative "../triplet"
require "plait/mechanisms/processes/portable_error"
require "plait/values/errors"

module Plait
  class Server
    class Detour
      # A request on its way to another process, and its answer on the way back.
      module Envelope
        # What belongs to the connection, or to this process.
        HERE = %w[rack.input rack.errors rack.hijack rack.hijack? rack.response_finished rack.early_hints].freeze

        class << self
          # @param env [Hash]
          # @return [String]
          # @raise [UnmarshalableError]
          def seal(env)
            rest = env.reject { |key, _| HERE.include?(key) || key.start_with?("plait.") }
            Marshal.dump([rest, env["rack.input"]&.read])
          rescue TypeError
            raise UnmarshalableError, complaint(rest)
          end

          # In the other process.
          # @param text [String]
          # @return [Hash] env
          def unseal(text)
            env, body = Marshal.load(text) # rubocop:disable Security/MarshalLoad -- from our own fork
            env.merge!("rack.input" => StringIO.new(body.to_s), "rack.errors" => $stderr, "rack.hijack?" => false,
                       "rack.response_finished" => [])
          end

          # In the other process.
          # @param response [Array(Integer, Hash, #each)]
          # @return [String]
          # @raise [UnsupportedError]
          # @raise [TypeError, ArgumentError] for what is no answer
          def answer(response)
            status, headers, body = Triplet.of(response)
            refuse_streams(headers, body)
            headers = headers.respond_to?(:to_hash) ? headers.to_hash.to_h : headers.to_enum(:each).to_a
            Marshal.dump([true, [status, headers, Whole.parts(body)]])
          end

          # In the other process.
          # @param error [Exception]
          # @return [String]
          def failure(error) = Marshal.dump([false, Mechanisms::Processes::PortableError.dump(error)])

          # @param text [String]
          # @return [Array(Integer, Hash, Array<String>)]
          # @raise [Exception]
          def open(text)
            done, value = Marshal.load(text) # rubocop:disable Security/MarshalLoad -- from our own fork
            done ? value : raise(Mechanisms::Processes::PortableError.load(value))
          end

          private

          def refuse_streams(headers, body)
            return if body.respond_to?(:each) && headers.to_enum(:each).none? { |name, value| name == "rack.hijack" && value }

            body.close if body.respond_to?(:close)
            raise UnsupportedError, "an answer that takes over its connection, or is streamed by a call, can't come from " \
                                    "another process: leave this request out of Plait::Server.on(:processes)"
          end

          def complaint(env)
            key, value = env.find { |_, one| !portable?(one) }
            "env[#{key.inspect}] (#{value.class}) can't travel to another process: put `use Plait::Server.on(:processes)` " \
              "above the middleware that sets it"
          end

          def portable?(value)
            Marshal.dump(value)
            true
          rescue TypeError
            false
          end
        end
      end
    end
  end
end
