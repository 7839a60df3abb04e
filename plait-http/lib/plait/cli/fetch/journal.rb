# frozen_string_literal: true

require "json"
require "plait/values/errors"
require "plait/cli/command"
require_relative "writing"

module Plait
  module CLI
    class Fetch < Command
      # How far a run has come, in a small file beside its output. It is replaced as a whole, so that it is never torn; what
      # was written to the output since is read from there.
      class Journal
        VERSION = 1
        # - crawl: Boolean
        # - mark: what the input is known by, see {Lines#mark}
        # - done: the ranges of a {LineSet}
        # - offset: bytes of the output when it was written
        # - ok, failed: finished lines by how they ended
        State = Struct.new(:crawl, :mark, :done, :offset, :ok, :failed, keyword_init: true)

        # @return [String]
        attr_reader :path

        # @param output [String] the file beside which it lies
        def initialize(output)
          @path = "#{output}.journal"
        end

        # @return [State, nil] nil when there is none
        # @raise [UsageError] when it can't be understood
        def load
          text = File.read(path)
          fields = JSON.parse(text, symbolize_names: true)
          raise UsageError, unknown unless fields.is_a?(Hash) && fields.delete(:version) == VERSION

          State.new(**fields)
        rescue Errno::ENOENT
          nil
        rescue JSON::ParserError, ArgumentError
          raise UsageError, unknown
        end

        # @param state [State]
        # @return [void]
        # @raise [Terminal::Unwritable]
        def save(state) = Writing.replace(path, JSON.generate(version: VERSION, **state.to_h))

        private

        def unknown
          "#{path} is no journal of this version of plait fetch; remove it and the output beside it to begin anew"
        end
      end
    end
  end
end
