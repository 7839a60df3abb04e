# frozen_string_literal: true

require_relative "../test/support/root"

# Pushes the gems of the family in the order of their dependencies. A release that broke off is taken up where it was: a gem
# that the registry has in this version is left out.
class Release
  # @param specs [Array<Gem::Specification>]
  # @yieldparam command [Array<String>] runs it, and returns what it has printed
  def initialize(specs, &run)
    @specs = specs.sort_by { |spec| Support::FAMILY.index(spec.name) }
    @run = run
  end

  # @raise [RuntimeError] where the versions differ; nothing was pushed
  def call
    versions = @specs.to_h { |spec| [spec.name, spec.version.to_s] }
    raise "the family has one version, but there are #{versions}" if versions.values.uniq.size > 1

    @specs.reject { |spec| there?(spec) }.each { |spec| @run.call(["gem", "push", "pkg/#{spec.name}.gem"]) }
  end

  private

  # "plait (1.2.0, 1.1.0)"
  def there?(spec)
    list = @run.call(["gem", "list", "--remote", "--exact", "--all", spec.name])
    list[/^#{spec.name} \((.*)\)/, 1].to_s.split(", ").include?(spec.version.to_s)
  end
end

desc "Push the gems of the family to the registry, in the order of their dependencies"
task release: :build do
  specs = Dir["plait*/*.gemspec"].map { |path| chdir(File.dirname(path)) { Gem::Specification.load(File.basename(path)) } }
  Release.new(specs) { |command| IO.popen(command, &:read).tap { |out| puts(out) } }.call
end
