# frozen_string_literal: true

require_relative "../mechanism"
require_relative "../../values/errors"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # An exception on its way out of a ractor, with its backtrace and causes. Ruby's own copy between ractors loses the
      # backtrace (3.1, 3.3), and refuses a NameError once error_highlight has looked at it ("allocator undefined for
      # RubyVM::InstructionSequence"); Marshal keeps class, message, variables and backtrace.
      module ErrorCopy
        # Causes that travel along.
        DEPTH = 8

        class << self
          # @param error [Exception, nil]
          # @return [String, nil] frozen, so that it is shared and not copied
          def pack(error) = error && Marshal.dump(chain(error).map { |link| dump(link) }).freeze

          # @param bytes [String, nil]
          # @return [Exception, nil]
          def unpack(bytes)
            return unless bytes

            Marshal.load(bytes).reverse.reduce(nil) { |cause, link| join(Marshal.load(link), cause) }
          end

          private

          def chain(error)
            links = [error]
            links << links.last.cause while links.size < DEPTH && links.last.cause
            links
          end

          def dump(error)
            Marshal.dump(error)
          rescue StandardError => e
            Marshal.dump(stand_in(error, e))
          end

          def stand_in(error, reason)
            copy = UnshareableError.new("#{error.class}: #{error.message} (the error itself can't leave its ractor: " \
                                        "#{reason.message})")
            copy.set_backtrace(error.backtrace)
            copy
          end

          def join(error, cause)
            return error unless cause

            begin
              raise error, cause: cause
            rescue Exception => e # rubocop:disable Lint/RescueException -- any exception may have travelled
              e
            end
          end
        end
      end
    end
  end
end
