# frozen_string_literal: true

require_relative "plait/lib/plait/version"

# What the gemspecs of the family have in common.
module PlaitFamily
  PAGES = %w[README.md CHANGELOG.md].freeze

  # @param spec [Gem::Specification] that has its name
  def self.describe(spec)
    spec.version = Plait::VERSION
    spec.authors = ["The Plait developers"]
    spec.license = "MIT"
    spec.required_ruby_version = ">= 3.1"
    spec.homepage = "https://rubydoc.info/gems/#{spec.name}"
    spec.metadata = metadata("#{spec.homepage}/#{spec.version}")
    spec.extra_rdoc_files = PAGES.dup
  end

  # @param page [String] of this version: its documentation, with the source of each method
  def self.metadata(page)
    { "source_code_uri" => "#{page}/index", "documentation_uri" => page, "changelog_uri" => "#{page}/file/CHANGELOG.md",
      "rubygems_mfa_required" => "true" }
  end
  private_class_method :metadata
end
