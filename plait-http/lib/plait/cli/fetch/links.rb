# frozen_string_literal: true

require_relative "../../http"
require "plait/cli/command"
require_relative "address"
require_relative "links/tags"

module Plait
  module CLI
    class Fetch < Command
      # The links of a page that a crawler may follow: of `a` and `area`, in HTML.
      #
      # It reads tags and builds no tree: it takes time in proportion to the page, and no page can make it fail. It finds
      # no link that a script writes, none in a frame, and none behind a form; a page is read in bytes, so that in one of
      # UTF-16 it finds nothing.
      module Links
        # Bytes of a page that are read.
        LONGEST = 8 << 20
        # Links of one page.
        MOST = 10_000
        TYPES = %r{\A\s*(text/html|application/xhtml\+xml)\s*(;|\z)}i

        class << self
          # @param result [Result]
          # @param url [String] of the page
          # @return [Array<HTTP::URL>] each once; none where the page does not want its links followed
          def of(result, url)
            return [] unless TYPES.match?(result.header("content-type").to_s)
            return [] if unwanted?(result.header("x-robots-tag"))

            in_page(beginning(result), url)
          end

          private

          def beginning(result)
            result.part ? File.binread(result.part, LONGEST).to_s : result.body.to_s.byteslice(0, LONGEST)
          end

          def in_page(html, url)
            base = nil
            hrefs = {}
            Tags.each(html) do |name, attributes|
              return [] if name == "meta" && closed?(attributes)

              base ||= attributes["href"] if name == "base"
              hrefs[attributes["href"]] = true if followed?(name, attributes)
              break if hrefs.size >= MOST
            end
            resolve(hrefs.keys, base, HTTP::URL.parse(url))
          end

          def followed?(name, attributes)
            %w[a area].include?(name) && attributes["href"] && !words(attributes["rel"]).include?("nofollow")
          end

          def resolve(hrefs, base, url)
            base = (base && Address.resolve(base, url)) || url
            hrefs.filter_map { |href| Address.resolve(href, base) }.uniq
          end

          def closed?(attributes)
            attributes["name"].to_s.casecmp?("robots") && unwanted?(attributes["content"])
          end

          def unwanted?(directives) = words(directives).intersect?(%w[nofollow none])

          def words(text) = text.to_s.downcase.split(/[\s,]+/)
        end
      end
    end
  end
end
