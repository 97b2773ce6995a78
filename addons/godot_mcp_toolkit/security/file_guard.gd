@tool
extends MCPToolkitFileGuard
## For extensions that load this script by its path; new ones name the class [MCPToolkitFileGuard].
