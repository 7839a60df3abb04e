# frozen_string_literal: true

require "plait/cli/command"

module Plait
  module CLI
    class Fetch < Command
      # One URL to be asked for. Plain values only, so that it can travel to another process.
      #
      # - line: Integer, of the input; nil for a robots.txt
      # - url: String, with the user and the password if it has any
      # - host: String, whose turn is limited
      # - origin: String, "http://example.org:8080"
      # - depth: Integer, links followed to get there
      # - attempts: Integer, made until now
      Job = Struct.new(:line, :url, :host, :origin, :depth, :attempts, keyword_init: true) do
        # @param url [String]
        # @return [String] the URL as it may be shown and kept
        def self.shown(url) = url.sub(%r{\A(\w+://)[^/?#]*@}, "\\1")

        # @return [Boolean] whether it is no line of the input, but asks what may be fetched
        def robots? = line.nil?

        # @return [String] the URL as it may be shown and kept
        def shown = Job.shown(url)
      end
    end
  end
end
