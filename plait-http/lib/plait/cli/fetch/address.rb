# frozen_string_literal: true

require_relative "../../http"
require "plait/values/errors"
require "plait/cli/command"
require_relative "job"

module Plait
  module CLI
    class Fetch < Command
      # From the text of a URL to a job.
      module Address
        # Bytes that a URL can't have as they are, but that people and pages write all the same.
        UNSAFE = /[^\x21-\x7e]|["<>\\^`{|}]/n

        class << self
          # @param text [String]
          # @param line [Integer, nil]
          # @return [Job]
          # @raise [UsageError] says what is wrong with the text
          def job(text, line:, depth: 0)
            url = HTTP::URL.parse(text)
            Job.new(line: line, url: url.userinfo ? with_user(text, url) : url.to_s, host: url.host.downcase,
                    origin: url.origin.to_s, depth: depth, attempts: 0)
          end

          # @param link [String] as it stands in a page
          # @param base [String, HTTP::URL] the URL of the page
          # @return [HTTP::URL, nil] nil when it is none that can be fetched
          def resolve(link, base)
            escaped = link.b.strip.delete("\t\r\n").gsub(UNSAFE) { |byte| format("%%%02X", byte.ord) }
            HTTP::URL.parse(escaped, base: HTTP::URL.parse(base))
          rescue UsageError
            nil
          end

          private

          # As they are written, in a URL that begins with its origin: what a robots.txt forbids is known by that.
          def with_user(text, url) = url.to_s.sub("//") { "//#{text[%r{//([^/?#]*@)}, 1]}" }
        end
      end
    end
  end
end
