# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "plait/db"
require "plait/db/driver"

class DBConnectTest < Minitest::Test
  def test_an_unknown_scheme
    error = assert_raises(Plait::UsageError) { Plait::DB.connect("oracle://x/y") }
    assert_match(/no bridge for "oracle": a URL begins with mysql2, trilogy, postgres/, error.message)
  end

  def test_what_is_the_pools_is_not_in_the_url
    skip("sqlite3 is not installed: bin/setup drivers") unless $LOAD_PATH.resolve_feature_path("sqlite3")
    error = assert_raises(Plait::UsageError) { Plait::DB.connect("sqlite:x.db?size=5") }
    assert_match(/size is the pool's: give it to DB.connect/, error.message)
  end

  # These drivers would say nothing.
  def test_an_option_that_nobody_knows
    %w[trilogy mysql2].each do |driver|
      next unless $LOAD_PATH.resolve_feature_path(driver)

      { sise: "size:", conect_timeout: "connect_timeout:" }.each do |odd, near|
        calls = [-> { Plait::DB.connect("#{driver}://h/x", odd => 3) }, -> { Plait::DB.connect("#{driver}://h/x?#{odd}=3") }]
        calls.map { |call| assert_raises(Plait::UsageError, &call).message }.each do |message|
          assert_match(/\A#{odd}: is an option neither .* did you mean #{near}\?/, message)
        end
      end
      assert_raises(Plait::UsageError) { Plait::DB.connect("#{driver}://h/x", zzzzzzzzz: 3) }
      Plait::DB.connect("#{driver}://h/x?read_timeout=3", size: 2, ssl: true).close
    end
  end

  # What was never tried is not patched.
  def test_another_version_of_a_driver
    spec = Gem.loaded_specs.values.first
    error = assert_raises(Plait::UnsupportedError) { Plait::DB::Driver.load(spec.name, ">= 900", "< 901") { nil } }
    assert_match(/not know the gem #{spec.name} #{spec.version}: write `gem "#{spec.name}", ">= 900", "< 901"`/, error.message)
    assert_nil(Plait::DB::Driver.load(spec.name, ">= 0") { nil })
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
