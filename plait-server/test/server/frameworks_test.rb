# frozen_string_literal: true

require "test_helper"
require_relative "app_server"
require_relative "frameworks/cases"

# Real apps of the frameworks, not changed for Plait: on each mechanism, and by rackup.
module Frameworks
  # What is required of each.
  GEMS = { "rails" => "action_controller/railtie", "sinatra" => "sinatra/base", "roda" => "roda" }.freeze
  KINDS = [%w[threads serve], %w[fibers serve], %w[hybrid serve], %w[fibers rackup]].freeze

  # The test of one app in one way. All its tests ask the same server, which the last one of them ends.
  # @return [Class]
  def self.test(app, mechanism, by)
    Class.new(Minitest::Test) do
      include Cases

      define_singleton_method(:server) do
        @server ||= AppServer.new(File.join(__dir__, "frameworks/#{app}.ru"), mechanism, by: by.to_sym).start
      end
      define_singleton_method(:run) do |*arguments, **options|
        super(*arguments, **options)
      ensure
        @server&.stop
      end
      define_method(:server) { self.class.server }
      define_method(:setup) do
        skip("the gem of #{app} is not installed: bin/setup drivers") unless Frameworks.available?(app)
        server # before a test asks from many threads at once
      end
    end
  end

  def self.available?(app)
    !$LOAD_PATH.resolve_feature_path(GEMS.fetch(app)).nil?
  end
end

Frameworks::GEMS.each_key do |app|
  Frameworks::KINDS.each do |mechanism, by|
    name = "#{app.capitalize}#{"ByRackup" if by == "rackup"}On#{mechanism.capitalize}Test"
    Frameworks.const_set(name, Frameworks.test(app, mechanism, by))
  end
end
