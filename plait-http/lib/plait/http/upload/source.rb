# frozen_string_literal: true

require_relative "reader"
require_relative "sequence"
require_relative "text"
require "plait/values/errors"

module Plait
  module HTTP
    class Upload
      # Whatever somebody gives as bytes to send, made one interface: `size` (bytes, or nil when that is not known), `each`
      # (Strings that are not empty, from the beginning) and `replayable?`.
      module Source
        module_function

        # @param object [String, IO, #read, Enumerable<String>, #replayable?]
        # @return [Text, Reader, Sequence, #replayable?]
        # @raise [UsageError]
        def for(object)
          case object
          when String then Text.new(object)
          when Hash then raise UsageError, "a Hash is no body: give it as form:, json: or multipart:"
          else wrap(object) or raise UsageError, unfit(object)
          end
        end

        # @api private
        def wrap(object)
          return object if object.respond_to?(:replayable?)
          return Reader.new(object) if object.respond_to?(:read)

          Sequence.new(object) if object.respond_to?(:each)
        end

        # @api private
        def unfit(object)
          "#{object.inspect[0, 40]} is no body: give a String, an IO, something with #read, or an Enumerable of Strings"
        end
      end
    end
  end
end
