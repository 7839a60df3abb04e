# frozen_string_literal: true

module Plait
  # "did you mean …", for a mistyped word.
  module Suggestion
    class << self
      # The end of a sentence that names a mistyped word.
      # @param word [String] as typed
      # @param known [Array<#to_s>] the right words
      # @return [String] `; did you mean "lab"?`, or a full stop when no known word is near
      def ending(word, known)
        near = nearest(word.to_s, known.map(&:to_s))
        near ? asking(near) : "."
      end

      def asking(near) = "; did you mean \"#{near}\"?"

      # The checker is absent with --disable-did_you_mean, and finds nothing for words of three letters, as in "lba".
      # @return [String, nil] the known word that is meant, most likely
      def nearest(word, known)
        return unless defined?(DidYouMean::SpellChecker)

        DidYouMean::SpellChecker.new(dictionary: known).correct(word).first || near_in_short(word, known)
      end

      private

      def near_in_short(word, known)
        near = known.min_by { |name| DidYouMean::Levenshtein.distance(word, name) }
        near if near && word[0] == near[0] && DidYouMean::Levenshtein.distance(word, near) <= 2
      end
    end
  end
  private_constant :Suggestion
end
