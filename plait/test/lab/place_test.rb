# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabPlaceTest < Minitest::Test
  LIBRARY = File.join(RbConfig::CONFIG["rubylibdir"], "net/http.rb")
  GEM = File.join(Gem.path.first, "gems/rake-13.0.0/lib/rake.rb")
  OURS = File.join(Support::ROOT, "plait/lib/plait/mechanisms/attempt.rb")

  def test_the_first_line_of_the_users_own
    assert_equal("work.rb:3", place("<internal:kernel>:18:in `loop'", "#{LIBRARY}:987:in `get'", "#{GEM}:5:in `run'",
                                    "#{Dir.pwd}/work.rb:3:in `block in <top>'", "#{OURS}:40:in `call'", "main.rb:9"))
    assert_equal("/else/where.rb:7", place("/else/where.rb:7"))
    assert_equal("-e:1", place("-e:1:in `<main>'"))
  end

  def test_none
    assert_nil(place("#{OURS}:40:in `call'", "#{LIBRARY}:1", "nonsense"))
    assert_nil(Plait::Lab.const_get(:Place).of(RuntimeError.new("not raised")))
  end

  private

  def place(*frames) = Plait::Lab.const_get(:Place).of(RuntimeError.new.tap { |error| error.set_backtrace(frames) })
end
