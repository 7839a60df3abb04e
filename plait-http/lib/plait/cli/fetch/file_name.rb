# frozen_string_literal: true

require "digest"
require "plait/cli/command"
require_relative "job"
require_relative "result"

module Plait
  module CLI
    class Fetch < Command
      # Where the body of an answer is kept: a folder for the host, the path in words one can read, and a digest by which no
      # two are the same, whatever the URLs are. Only letters, digits, "-", "_" and "." reach the disk, none of them first
      # but letters and digits.
      module FileName
        # Characters; with all that is added a name stays below the 255 bytes of most disks.
        LONGEST = 100
        # Hexadecimal digits: 64 bits.
        DIGEST = 16
        EXTENSIONS = {
          "text/html" => ".html", "application/xhtml+xml" => ".html", "text/plain" => ".txt", "text/css" => ".css",
          "text/csv" => ".csv", "text/xml" => ".xml", "application/xml" => ".xml", "application/json" => ".json",
          "text/javascript" => ".js", "application/javascript" => ".js", "application/pdf" => ".pdf",
          "image/png" => ".png", "image/jpeg" => ".jpg", "image/gif" => ".gif", "image/svg+xml" => ".svg",
          "image/webp" => ".webp"
        }.freeze
        RESERVED = /\.(jsonl|journal|frontier|part)\z/
        EXTENSION = /\.[a-z0-9]{1,8}\z/i

        class << self
          # @param job [Job]
          # @param result [Result]
          # @return [String] "example.org/docs_start-3f9a0c12b7d41e66.html"
          def of(job, result)
            host, path = job.shown.match(%r{\A\w+://([^/?#]*)([^?#]*)}).captures
            stem = path.sub(EXTENSION, "")
            "#{folder(host)}/#{readable(stem)}-#{digest(job)}#{extension(path, result)}"
          end

          private

          # No host is called as what lies beside its folder: a name has no "_" at its end but this one.
          def folder(host)
            name = readable(host.downcase, "host")
            RESERVED.match?(name) ? "#{name}_" : name
          end

          def readable(text, empty = "index")
            clean = text.gsub(/[^\w.-]+/, "_").sub(/\A[^a-zA-Z0-9]+/, "")[0, LONGEST].sub(/[^a-zA-Z0-9]+\z/, "")
            clean.empty? ? empty : clean
          end

          # The line too: the same URL may be there twice.
          def digest(job) = Digest::SHA256.hexdigest("#{job.line} #{job.url}")[0, DIGEST]

          def extension(path, result)
            path[EXTENSION]&.downcase || EXTENSIONS.fetch(result.header("content-type").to_s[/\A[^;\s]+/].to_s.downcase, "")
          end
        end
      end
    end
  end
end
