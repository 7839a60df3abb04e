# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/values/suggestion"

class SuggestionTest < Minitest::Test
  SUGGESTION = Plait.const_get(:Suggestion)
  COMMANDS = %w[lab compare doctor version help].freeze

  def test_the_nearest_known_word
    { "lba" => "lab", "compre" => "compare", "docter" => "doctor", "versoin" => "version" }.each do |typed, meant|
      assert_equal "; did you mean \"#{meant}\"?", SUGGESTION.ending(typed, COMMANDS)
    end
  end

  def test_nothing_near
    ["xyzzy", "", "quantum"].each { |typed| assert_equal ".", SUGGESTION.ending(typed, COMMANDS) }
  end

  def test_symbols
    assert_equal "; did you mean \"threads\"?", SUGGESTION.ending(:thread, %i[threads fibers])
  end
end
