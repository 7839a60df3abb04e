# frozen_string_literal: true

require "plait/cli/command"

module Plait
  module CLI
    class Fetch < Command
      # What became of one request. Plain values only, so that it can travel from another process.
      #
      # - status, version, headers ([[name, value], …]), final_url, timings ({phase => seconds}): of the answer, if any
      # - body: binary String | nil
      # - part: String | nil, the file that holds the body instead
      # - bytes: Integer, of the body
      # - seconds: Float, from the beginning of the request to the end of the answer | nil
      # - error: String, the kind of error; message: String; both nil with an answer
      # - transient: whether the same request may do better later
      Result = Struct.new(:status, :version, :headers, :final_url, :timings, :body, :part, :bytes, :seconds, :error, :message,
                          :transient, keyword_init: true) do
        # @param error [StandardError] its class gives the kind: Plait::ConnectTimeout is a "connect_timeout"
        # @return [Result]
        def self.of(error, **more)
          kind = error.class.name.to_s[/\w+\z/].to_s.delete_suffix("Error").gsub(/(?<=[a-z])(?=[A-Z])/, "_").downcase
          failure(kind, error.message, **more)
        end

        # Of a request that was not made, or brought no answer.
        # @param kind [String]
        # @param message [String]
        # @return [Result]
        def self.failure(kind, message, **more) = new(error: kind, message: message, headers: [], bytes: 0, **more)

        # @return [Boolean] an answer, and none that says that something is wrong
        def ok? = kind.nil?

        # @return [String, nil] in a word what is wrong
        def kind = error || (status >= 400 ? "status_#{status}" : nil)

        # @param name [String] in lower case
        # @return [String, nil] the first header of that name
        def header(name) = headers.find { |key, _| key.casecmp?(name) }&.last
      end
    end
  end
end
