# frozen_string_literal: true

require_relative "../syntax"
require_relative "../../broken"

module Plait
  module Protocols
    module HTTP1
      module Pure
        # The first line of a head.
        class StartLine
          class << self
            # @param line [String] binary, free of control bytes
            # @return [StartLine] of a response
            # @raise [Broken]
            def response(line)
              raise Broken.new(:not_http, line.bytesize) unless line.start_with?("HTTP/")

              minor = version(line, 5)
              raise Broken.new(:status_line, 8) unless line[8] == " "
              raise Broken.new(:status, 9) unless line.match?(/\A.{9}[1-9]\d\d(?!\d)/n)
              raise Broken.new(:status_line, 12) unless [nil, " "].include?(line[12])

              new(minor: minor, status: line[9, 3].to_i, reason: line[13..] || "".b)
            end

            # @param at [Integer] where the line stands
            # @return [StartLine] of a request
            # @raise [Broken]
            def request(line, at)
              method, target = words(line, at)
              minor = request_version(line, method.bytesize + target.bytesize + 2, at)
              form = Syntax.target_form?(method, target)
              raise Broken.new(:target_form, at + method.bytesize + 1) unless form

              new(minor: minor, method: method, target: target)
            end

            private

            def version(line, at, base = 0)
              text = line.match(/[\d.]*/n, at)[0]
              raise Broken.new(:version, base + at) unless %w[1.0 1.1].include?(text)

              text[2].to_i
            end

            def words(line, at)
              method = line[/\A[!#$%&'*+\-.^_`|~0-9A-Za-z]*/n]
              check_method(line, method, at)
              target = line.match(/[\x21\x22\x24-\x7e\x80-\xff]*/n, method.bytesize + 1)[0]
              check_target(line, target, method.bytesize + 1 + target.bytesize, at)
              [method, target]
            end

            def check_method(line, method, at)
              raise Broken.new(:request_line, at + line.bytesize) if method == line
              raise Broken.new(:method, at + method.bytesize) if method.empty? || line[method.bytesize] != " "
            end

            # @param stop [Integer] where the target ends
            def check_target(line, target, stop, at)
              after = line[stop]
              raise Broken.new(:request_line, at + stop) if target.empty? && [nil, " "].include?(after)
              raise Broken.new(:no_version, at + stop) unless after
              raise Broken.new(:target, at + stop) unless after == " "
            end

            def request_version(line, from, at)
              raise Broken.new(:request_line, at + from) unless line[from, 5] == "HTTP/"
              raise Broken.new(:preface, at) if line == "PRI * HTTP/2.0"

              minor = version(line, from + 5, at)
              raise Broken.new(:request_line, at + from + 8) unless line.bytesize == from + 8

              minor
            end
          end

          # @return [Integer] of HTTP/1.minor
          attr_reader :minor
          # @return [Integer, nil]
          attr_reader :status
          # @return [String, nil] binary
          attr_reader :reason, :method, :target

          def initialize(minor:, status: nil, reason: nil, method: nil, target: nil)
            @minor = minor
            @status = status
            @reason = reason
            @method = method
            @target = target
          end
        end
      end
    end
  end
end
