# frozen_string_literal: true

require_relative "../root"

module Support
  module House
    # Words that code, comments, messages and guides must not use, each with the term to use instead. `words.txt` has a count
    # for each gem and for the guides. A count may only fall; `rake house:words` shows each place and writes lower counts.
    class Words
      # Nouns of our own; also as a part of a name: CrewSize, crew_size.
      NOUNS = {
        "bell" => "wake-up pipe or stop signal", "cargo" => "batch", "claim" => "checkout", "crew" => "worker pool",
        "culprit" => "crash attribution", "detour" => "executor selection", "gang" => "worker pool",
        "lane" => "slot or stream", "last will" => "finalizer", "lease" => "checkout", "ledger" => "pool state",
        "mend" => "patch", "nursery" => "fork server",
        "parcel" => "chunk", "staff" => "worker pool", "stint" => "worker loop", "stray" => "orphaned fork",
        "volley" => "batch"
      }.freeze

      # English that readers with another first language stumble over.
      ENGLISH = {
        "anew" => "again", "anybody" => "a noun with a type", "begun" => "started", "besides" => "also, or next to",
        "for ever" => "without an end", "he" => "a noun with a type", "him" => "a noun with a type",
        "his" => "the noun with 's", "nobody" => "no, and a noun with a type", "of its own accord" => "by itself",
        "somebody" => "a noun with a type", "someone" => "a noun with a type", "those" => "the noun in the plural",
        "told" => "says, reports, or passed to", "who" => "a noun with a type", "whoever" => "a noun with a type",
        "whom" => "a noun with a type"
      }.freeze
      TERMS = NOUNS.merge(ENGLISH).freeze

      # Terms of the field that are right in one place only.
      RIGHT = {
        "plait-db" => { "lease" => "ActiveRecord's checkout that lasts longer than the block, since 7.2" },
        "plait-shard" => {
          "claim" => "an option of Redis's XREADGROUP, and a key in Redis of a proxy that takes the lock of a resharding",
          "lease" => "a lock with a time limit, which a proxy holds in Redis"
        }
      }.freeze

      PATH = File.join(__dir__, "words.txt")
      # Place => its files.
      PLACES = FAMILY.to_h { |gem| [gem, ["#{gem}/lib/**/*.rb", "#{gem}/ext/**/*.{c,h,rb}", "#{gem}/exe/*", "#{gem}/*.md"]] }
                     .merge("guides" => %w[README.md CONTRIBUTING.md guides/**/*.md bench/README.md]).freeze
      CODE_IN_MARKDOWN = /`[^`\n]*`/

      # A noun also counts as a part of a name, as in `crew_size`, `CrewSize`, `CREW_SIZE`; all count in the plural.
      def self.pattern(word)
        small = word.tr(" ", "_").sub("_", "[ _]")
        return /\b#{small}s?\b/i if ENGLISH.key?(word)

        camel = word.split.map(&:capitalize).join
        /(?<![A-Za-z])#{small}s?(?![a-z])|(?<![A-Z])#{small.upcase}S?(?![A-Za-z])|#{camel}s?(?![a-z])/
      end

      PATTERNS = TERMS.keys.to_h { |word| [word, pattern(word)] }.freeze
      ANY = Regexp.union(PATTERNS.values)

      # @param root [String] the folder of the project
      def initialize(root = ROOT)
        @root = root
      end

      # @return [Hash{String => Integer}] uses by place
      def counts = PLACES.keys.to_h { |place| [place, uses(place).size] }

      # @return [Array<String>] the path and line of each use, the word, and the term instead
      def uses(place)
        Dir.glob(PLACES.fetch(place), base: @root).sort.flat_map do |path|
          File.readlines(File.join(@root, path), encoding: Encoding::UTF_8).flat_map.with_index(1) do |line, number|
            found(path.end_with?(".md") ? line.gsub(CODE_IN_MARKDOWN, "") : line).filter_map do |word|
              "#{path}:#{number}: #{word}: say #{TERMS.fetch(word)}" unless RIGHT.dig(place, word)
            end
          end
        end
      end

      # @return [Hash{String => Integer}] the most that a place may have
      def self.limits = File.readlines(PATH).to_h { |line| line.split(": ").then { |place, count| [place, count.to_i] } }

      # Writes the counts; none above the limit that it has.
      def write
        limits = Words.limits
        lower = counts.map { |place, count| "#{place}: #{[count, limits.fetch(place, count)].min}\n" }
        File.write(PATH, lower.join)
      end

      private

      def found(line)
        return [] unless line.match?(ANY)

        PATTERNS.flat_map { |word, pattern| [word] * line.scan(pattern).size }
      end
    end
  end
end
