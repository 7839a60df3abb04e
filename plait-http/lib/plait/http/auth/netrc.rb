# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module HTTP
    module Auth
      # Users and passwords of hosts, as curl and ftp read them from ~/.netrc.
      class Netrc
        WORD = /"(?:[^"\\]|\\.)*"|\S+/
        COMMENT = /\A\s*#/
        MACRO = /(?:\A|\s)macdef\s/
        private_constant :WORD, :COMMENT, :MACRO

        # @param spec [true, String, nil] true: the file that NETRC names, or ~/.netrc, if it is there
        # @return [Netrc, nil]
        # @raise [UsageError] for a file that can't be read
        def self.from(spec)
          return unless spec

          path = spec == true ? ENV.fetch("NETRC") { File.expand_path("~/.netrc") } : spec
          new(File.read(path)) unless spec == true && !File.exist?(path)
        rescue SystemCallError, TypeError, ArgumentError => e
          raise UsageError, "netrc: takes true or the path of a file: #{e.message}"
        end

        def initialize(text)
          @entries = {}
          read(words(text.b))
        end

        # @param host [String]
        # @return [Array(String, String), nil] user and password
        def [](host)
          entry = @entries[host] || @entries[nil]
          entry.values_at("login", "password") if entry&.key?("password")
        end

        def inspect = "#<#{self.class}>"

        private

        # A macro goes to the next empty line.
        def words(text)
          macro = false
          text.each_line.flat_map do |line|
            macro = false if line.strip.empty?
            next [] if macro || line.match?(COMMENT)

            macro = line.match?(MACRO)
            line.scan(WORD).map { |word| plain(word) }
          end
        end

        def plain(word) = word.start_with?('"') && word.size > 1 ? word[1..-2].gsub(/\\(.)/n, "\\1") : word

        # The first entry of a host counts.
        def read(words)
          entry = {}
          until words.empty?
            case word = words.shift
            when "machine" then entry = (@entries[words.shift.to_s.downcase] ||= {})
            when "default" then entry = (@entries[nil] ||= {})
            else value = words.shift and entry[word] ||= value.force_encoding(Encoding::UTF_8)
            end
          end
        end
      end
    end
  end
end
