# frozen_string_literal: true

module Plait
  module HTTP
    class CookieJar
      # The dates of cookies (RFC 6265 §5.1.1): words in any order between any delimiters, of which the first that looks
      # like a time, a day, a month or a year is it.
      class Date
        DELIMITERS = /[\x09\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+/n
        MONTHS = %w[jan feb mar apr may jun jul aug sep oct nov dec].freeze
        # In the order in which a word is tried.
        PARTS = {
          time: /\A(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\D.*)?\z/mn, day: /\A(\d{1,2})(?:\D.*)?\z/mn,
          month: /\A(#{MONTHS.join("|")})/in, year: /\A(\d{2,4})(?:\D.*)?\z/mn
        }.freeze
        private_constant :DELIMITERS, :MONTHS, :PARTS

        # @param text [String]
        # @return [Time, nil] nil when it is no date
        def self.parse(text) = new(text).time

        # @api private
        def initialize(text)
          @found = {}
          text.b.split(DELIMITERS).each { |word| take(word) }
        end

        # @return [Time, nil]
        def time
          return unless @found.size == PARTS.size

          day = @found[:day].first.to_i
          moment = Time.utc(year, month, day, *clock)
          moment if year >= 1601 && moment.day == day # there is no 30 February
        rescue ArgumentError # nor an hour 25
          nil
        end

        private

        def take(word)
          part, pattern = PARTS.find { |name, candidate| !@found.key?(name) && candidate.match?(word) }
          @found[part] = pattern.match(word).captures if part
        end

        def year
          number = @found[:year].first.to_i
          case number
          when 70..99 then number + 1900
          when 0..69 then number + 2000
          else number
          end
        end

        def month = MONTHS.index(@found[:month].first.downcase) + 1

        # Ruby's Time knows 24:00 and leap seconds.
        def clock
          @found[:time].map(&:to_i).tap do |hour, minute, second|
            raise ArgumentError, "no time" if hour > 23 || minute > 59 || second > 59
          end
        end
      end
    end
  end
end
