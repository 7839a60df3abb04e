# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/fresh_ruby"
require "plait/db"

class DBConnectTest < Minitest::Test
  def test_an_unknown_scheme
    error = assert_raises(Plait::UsageError) { Plait::DB.connect("oracle://x/y") }
    assert_match(/no bridge for "oracle": a URL begins with mysql2, trilogy, postgres/, error.message)
  end

  # Nothing of a bundle is found when RubyGems is told of none.
  def test_a_missing_driver
    { "trilogy" => "trilogy", "mysql2" => "mysql2", "postgres" => "pg", "sqlite" => "sqlite3",
      "redis" => "redis_client", "mongodb" => "mongo" }.each do |scheme, gem|
      result = Support::FreshRuby.run(<<~RUBY)
        require "plait"
        module Kernel
          alias plait_test_require require
          def require(name) = name == "#{gem}" ? raise(LoadError.new("no", path: name)) : plait_test_require(name)
        end
        class LoadError
          def initialize(message = nil, path: nil)
            super(message)
            @missing = path
          end
          def path = @missing
        end
        begin
          Plait::DB.connect("#{scheme}://localhost/x")
        rescue Plait::UnsupportedError => e
          puts e.message
        end
      RUBY
      assert_match(/\Athis database needs the gem #{gem.tr("_", "-")}: add `gem "#{gem.tr("_", "-")}"/, result.out, result.err)
    end
  end
end
